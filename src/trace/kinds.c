/* SPDX-License-Identifier: Apache-2.0 */
/* kinds - rules in order; the first whose word the name starts with, or holds, decides. */
#include "trace/kinds.h"

#include <ctype.h>
#include <strings.h>

#include "base/banned.h"

struct rule {
    const char *word;
    bool anywhere; /* else only at the start */
    enum op_kind kind;
};

/* Collectives before copies: "collective-permute" and "ncclDevKernel" hold other words too. */
static const struct rule rules[] = {
    {"all-reduce", true, OP_COLLECTIVE},
    {"all_reduce", true, OP_COLLECTIVE},
    {"allreduce", true, OP_COLLECTIVE},
    {"all-gather", true, OP_COLLECTIVE},
    {"all_gather", true, OP_COLLECTIVE},
    {"allgather", true, OP_COLLECTIVE},
    {"all-to-all", true, OP_COLLECTIVE},
    {"all_to_all", true, OP_COLLECTIVE},
    {"alltoall", true, OP_COLLECTIVE},
    {"reduce-scatter", true, OP_COLLECTIVE},
    {"reduce_scatter", true, OP_COLLECTIVE},
    {"reducescatter", true, OP_COLLECTIVE},
    {"collective", true, OP_COLLECTIVE},
    {"psum", false, OP_COLLECTIVE}, /* JAX's own names, where the compiler keeps them */
    {"pmax", false, OP_COLLECTIVE},
    {"pmin", false, OP_COLLECTIVE},
    {"ppermute", false, OP_COLLECTIVE},
    {"nccl", true, OP_COLLECTIVE},
    {"rccl", true, OP_COLLECTIVE},
    {"partition-id", false, OP_OTHER},
    {"send", false, OP_COLLECTIVE},
    {"recv", false, OP_COLLECTIVE},
    {"dot", false, OP_MATMUL},
    {"conv", false, OP_MATMUL}, /* but not convert: see kind_of() */
    {"cudnn", true, OP_MATMUL},
    {"miopen", true, OP_MATMUL},
    {"cublas", true, OP_MATMUL},
    {"gemm", true, OP_MATMUL},
    {"matmul", true, OP_MATMUL},
    {"cijk_", false, OP_MATMUL}, /* Tensile's kernels */
    {"im3d2col", false, OP_MATMUL},
    {"im2col", false, OP_MATMUL},
    {"cutlass", true, OP_MATMUL},
    {"ynn_dot", false, OP_MATMUL},
    {"memcpy", true, OP_COPY},
    {"memset", true, OP_COPY},
    {"copy", false, OP_COPY},
    {"wrapped_copy", false, OP_COPY},
    {"wrapped_transpose", false, OP_COPY},
    {"transpose.", false, OP_COPY},
    {"dynamic-update-slice", false, OP_COPY},
    {"dynamic-slice", false, OP_COPY},
    {"infeed", false, OP_COPY},
    {"outfeed", false, OP_COPY},
    {"copybuffer", true, OP_COPY},
    {"fusion", true, OP_FUSION},
    {"fused", true, OP_FUSION},
    {"wrapped_", false, OP_FUSION}, /* one op in a kernel of its own, named as a fusion */
};

#define NAME_MAX_SEEN 255

static void lower(struct view text, char *ret_text)
{
    size_t n = text.size < NAME_MAX_SEEN ? text.size : NAME_MAX_SEEN;
    for (size_t i = 0; i < n; i++)
        ret_text[i] = (char)tolower(text.data[i]);
    ret_text[n] = '\0';
}

static enum op_kind by_rules(const char *name)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const char *at = strstr(name, rules[i].word);
        if (at && (rules[i].anywhere || at == name)) {
            if (rules[i].kind == OP_MATMUL && strncmp(name, "convert", 7) == 0)
                continue;
            return rules[i].kind;
        }
    }
    return OP_OTHER;
}

enum op_kind kind_of(struct view op, struct view category)
{
    char name[NAME_MAX_SEEN + 1];
    if (category.size) {
        lower(category, name);
        /* "convolution fusion" is a fusion around a convolution: the convolution is what costs */
        if (strstr(name, "convolution") || strstr(name, "dot") || strstr(name, "matmul"))
            return OP_MATMUL;
        enum op_kind kind = by_rules(name);
        if (kind != OP_OTHER)
            return kind;
        if (strstr(name, "copy") || strstr(name, "data formatting"))
            return OP_COPY;
    }
    lower(op, name);
    return by_rules(name[0] == '%' ? name + 1 : name);
}

bool kind_is_control(struct view op)
{
    static const char *const words[] = {"while", "conditional", "call"};
    if (view_starts(op, "%"))
        op = view_of(op.data + 1, op.size - 1);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t n = strlen(words[i]);
        if (view_starts(op, words[i]) && (op.size == n || op.data[n] == '.'))
            return true;
    }
    return false;
}
