/* SPDX-License-Identifier: Apache-2.0 */
/* reports_mode - when reports are made, as Python and the environment say it. */
#include "python/reports_mode.h"

#include "base/banned.h"

int reports_mode_parse(PyObject *value, enum reports_mode *ret, const char *source)
{
    static const char *const names[] = {"wait", "background", "off"};
    for (size_t i = 0; PyUnicode_Check(value) && i < sizeof(names) / sizeof(names[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(value, names[i]) == 0) {
            *ret = (enum reports_mode)i;
            return 0;
        }
    }
    PyErr_Format(PyUnicode_Check(value) ? PyExc_ValueError : PyExc_TypeError,
                 "%s must be 'wait', 'background' or 'off', not %R", source, value);
    return -1;
}

PyObject *reports_mode_default(void)
{
    OWNED variables = py_import_attr("os", "environ");
    OWNED value =
        variables ? py_call_method(variables, "get", "(ss)", "DEW_PROFILE_REPORTS", "") : NULL;
    if (!value)
        return NULL;
    if (PyUnicode_Check(value) && PyUnicode_GetLength(value) == 0)
        return PyUnicode_FromString("wait");
    enum reports_mode mode;
    if (reports_mode_parse(value, &mode, "the environment variable DEW_PROFILE_REPORTS") < 0)
        return NULL;
    return STEAL(value);
}
