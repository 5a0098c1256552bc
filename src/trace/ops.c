/* SPDX-License-Identifier: Apache-2.0 */
/* ops - chained hash of pairs. */
#include "trace/ops.h"

#include <stdlib.h>

#include "trace/kinds.h"

#include "base/banned.h"

#define OPS_HEADS 4096

int ops_number(struct ops *ops, struct view module, struct view name, struct view category,
               uint32_t *ret_op, bool *ret_new, struct err *e)
{
    uint32_t module_id, name_id;
    int r = intern_put(&ops->names, module, &module_id, e);
    if (r == 0)
        r = intern_put(&ops->names, name, &name_id, e);
    if (r < 0)
        return r;
    if (!ops->heads) {
        ops->heads = calloc(OPS_HEADS, sizeof(*ops->heads)); /* 0 none, else 1 + op */
        if (!ops->heads)
            return err_nomem(e);
    }
    uint32_t *head = &ops->heads[(module_id * UINT32_C(2654435761) ^ name_id) % OPS_HEADS];
    for (uint32_t at = *head; at; at = ops->all[at - 1].next) {
        if (ops->all[at - 1].module == module_id && ops->all[at - 1].name == name_id) {
            *ret_op = at - 1;
            *ret_new = false;
            return 0;
        }
    }
    if (ops->count == ops->room) {
        uint32_t room = ops->room ? ops->room * 2 : 128;
        struct op_data *grown = realloc(ops->all, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        ops->all = grown;
        ops->room = room;
    }
    ops->all[ops->count] = (struct op_data){.module = module_id,
                                            .name = name_id,
                                            .kind = kind_of(name, category),
                                            .control = kind_is_control(name),
                                            .next = *head};
    *ret_op = ops->count++;
    *head = ops->count;
    *ret_new = true;
    return 0;
}

void ops_release(struct ops *ops)
{
    free(ops->all);
    free(ops->heads);
    intern_release(&ops->names);
    *ops = (struct ops){0};
}
