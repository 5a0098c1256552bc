
bare"host