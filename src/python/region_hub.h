/* SPDX-License-Identifier: Apache-2.0 */
/* region_hub - what region.c and region_span.c share and nobody else sees. */
#ifndef DEW_PYTHON_REGION_HUB_H
#define DEW_PYTHON_REGION_HUB_H

#include <stdbool.h>
#include <stdint.h>

#include "python/py.h"

/* Names that were checked lately, by address: the same literal comes by again and again. A name in
 * it is owned, so that its address cannot become another name's. Long ones are not kept. */
#define CHECKED_SLOTS 64
#define CHECKED_NAME_MAX 256

struct span;

struct region_hub {
    PyObject_HEAD PyObject *idle; /* the shared object that does nothing */
    PyTypeObject *span_type;
    PyObject *trace_me;   /* jaxlib's TraceMe, or NULL before the first capture */
    bool trace_me_is_raw; /* it is known to span from its making to its end: see region_span.c */
    PyObject *names;      /* dict: name -> None, in order of first sight */
    unsigned owner;       /* of the running, or else the last, capture */
    unsigned serial;      /* of the capture that a span was last entered in */
    struct span *open;    /* newest first; each removes itself */
    PyObject *checked[CHECKED_SLOTS];
    bool noted[CHECKED_SLOTS]; /* the name in that slot is in `names` */
};

static inline size_t hub_slot(PyObject *name)
{
    return ((uintptr_t)name >> 4 ^ (uintptr_t)name >> 10) % CHECKED_SLOTS;
}

/* The type of spans: new reference. */
PyTypeObject *span_type_new(void);

/* JAX's TraceMe, and whether it may be used raw: new reference. */
PyObject *span_trace_me(bool *ret_raw);

/* A span that is not open yet: new reference. */
PyObject *span_new(struct region_hub *hub, PyObject *name, unsigned owner);

PyObject *span_open_names(const struct region_hub *hub);

#endif
