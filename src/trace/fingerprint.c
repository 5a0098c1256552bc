/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint - FNV-1a over some fields of hlo.proto's messages. */
#include "trace/fingerprint.h"

#include "wire/wire.h"

#include "base/banned.h"

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

enum {
    HLO_PROTO_MODULE = 1,
    MODULE_COMPUTATIONS = 3,
    COMPUTATION_INSTRUCTIONS = 2,
    INSTRUCTION_OPCODE = 2,
    INSTRUCTION_SHAPE = 3,
    INSTRUCTION_LITERAL = 8,
    INSTRUCTION_OPERANDS = 36,
};

static uint64_t hash_bytes(uint64_t hash, struct view bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * FNV_PRIME;
    return hash;
}

static uint64_t hash_field(uint64_t hash, const struct wire_field *field)
{
    uint64_t parts[] = {field->number, field->value, field->bytes.size};
    hash = hash_bytes(hash, view_of(parts, sizeof(parts)));
    return hash_bytes(hash, field->bytes);
}

static uint64_t hash_instruction(uint64_t hash, struct wire wire)
{
    struct wire_field field;
    while (wire_next(&wire, &field) > 0)
        if (field.number == INSTRUCTION_OPCODE || field.number == INSTRUCTION_SHAPE ||
            field.number == INSTRUCTION_LITERAL || field.number == INSTRUCTION_OPERANDS)
            hash = hash_field(hash, &field);
    return hash;
}

bool fingerprint_hlo(struct view hlo_proto, uint64_t *ret_fingerprint)
{
    uint64_t hash = FNV_START;
    bool any = false;
    struct wire proto = wire_file(hlo_proto);
    struct wire_field module, computation, instruction;
    while (wire_next(&proto, &module) > 0) {
        if (module.number != HLO_PROTO_MODULE || module.type != WIRE_BYTES)
            continue;
        struct wire parts = wire_enter(&proto, module.bytes, module.cut);
        while (wire_next(&parts, &computation) > 0) {
            if (computation.number != MODULE_COMPUTATIONS || computation.type != WIRE_BYTES)
                continue;
            struct wire steps = wire_enter(&parts, computation.bytes, computation.cut);
            while (wire_next(&steps, &instruction) > 0) {
                if (instruction.number != COMPUTATION_INSTRUCTIONS ||
                    instruction.type != WIRE_BYTES)
                    continue;
                hash = hash_instruction(hash, wire_enter(&steps, instruction.bytes, false));
                any = true;
            }
        }
    }
    if (any)
        *ret_fingerprint = hash;
    return any;
}
