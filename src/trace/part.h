/* SPDX-License-Identifier: Apache-2.0 */
/* part - the rows of some processes as a small file that can be joined with others later.
 *
 * A header of PART_HEADER_BYTES (magic, version, size and checksum of the body), then protobuf
 * tokens; docs/scale.md has every field. Equal rows are equal bytes, whatever order they were
 * joined in. Reading refuses whatever it does not know, because what it skipped would be missing
 * when the rows are written again: another version, an unknown field, a body that is not the one
 * the checksum was made of, a cut, trailing bytes, a process number out of range, rows out of
 * order. It allocates for rows that are there, never by what the file claims, and bounds buckets by
 * PART_BUCKETS_MAX. Its bounds are fuzzed by tests/fuzz/fuzz_part.c. */
#ifndef DEW_TRACE_PART_H
#define DEW_TRACE_PART_H

#include "trace/many.h"
#include "wire/out.h"
#include "wire/wire.h"

#define PART_MAGIC_BYTES 8
#define PART_HEADER_BYTES 28
#define PART_VERSION 1
#define PART_BUCKETS_MAX (UINT32_C(1) << 23)
#define PART_NAME_BYTES_MAX (UINT32_C(1) << 26)

/* Whether the bytes begin as a part of any version does. A file shorter than the magic is one where
 * all of it agrees, so that a cut part is called that. */
bool part_is(struct view bytes);

/* Views of `bytes`. ERR_UNSUPPORTED: of another version. ERR_TRUNCATED, ERR_DAMAGED, ERR_LIMIT. */
must_check int part_read(struct view bytes, struct many_rows *ret, struct err *e);

/* What stands behind the header; `file` is what offsets are counted in. */
must_check int part_read_body(struct view file, struct view body, struct many_rows *ret,
                              struct err *e);

/* Header and body; the rows must have been settled. */
must_check int part_write(struct many_rows *rows, struct wire_out *out, struct err *e);

/* FNV-1a, 64 bits. */
uint64_t part_checksum(struct view body);

/* A sketch as a message of its own. Reading counts the buckets that it made room for. */
void part_put_sketch(struct wire_out *out, uint32_t field, struct sketch *sketch);
must_check int part_get_sketch(struct wire *wire, struct sketch *ret, uint32_t *buckets);

enum part_field {
    PART_PROCESS = 1,
    PART_REGION = 2,
    PART_MODULE = 3,
    PART_STEPS = 4,
    PART_TOTALS = 5,
    PART_STEP_DURATIONS = 6,
};

enum part_process_field {
    PROCESS_HOST = 1,
    PROCESS_FILE,
    PROCESS_VERSION,
    PROCESS_INDEX,
    PROCESS_COUNT,
    PROCESS_PID,
    PROCESS_START,
    PROCESS_STOP,
    PROCESS_WINDOW,
    PROCESS_EVENTS,
    PROCESS_PLATFORM,
    PROCESS_FLAGS,
    PROCESS_DEVICES,
    PROCESS_BUSY,
    PROCESS_IDLE,
    PROCESS_STEPS,
    PROCESS_STEPS_CUT,
    PROCESS_STEPS_PS,
    PROCESS_STRIDE,
    PROCESS_COMPARED,
    PROCESS_COMPARED_PS,
    PROCESS_WAIT,
    PROCESS_WORK,
    PROCESS_STARTS,
    PROCESS_ENDS,
    PROCESS_RUN,
    PROCESS_FIELDS,
};

#define PROCESS_FLAG_DAMAGED 1U
#define PROCESS_FLAG_COLLECTIVES 2U
#define PROCESS_FLAG_CLOCK 4U
#define PROCESS_FLAG_RUNS_LOST 8U
#define PROCESS_FLAGS_ALL 15U

enum part_run_field { RUN_NAME = 1, RUN_FIRST, RUN_STRIDE, RUN_COUNT, RUN_FIELDS };

enum part_region_field {
    REGION_NAME = 1,
    REGION_PROCESSES,
    REGION_CALLS,
    REGION_MEANS,
    REGION_SLOWEST,
    REGION_FASTEST,
    REGION_SLOWEST_CALLS,
    REGION_LAUNCHED,
    REGION_LAUNCHED_OPS,
    REGION_LAUNCHES,
    REGION_IDLE_BEHIND,
    REGION_LAUNCHED_BY,
    REGION_FIELDS,
};

enum part_module_field { MODULE_NAME = 1, MODULE_OP, MODULE_FIELDS };

enum part_op_field {
    OP_NAME = 1,
    OP_KIND,
    OP_PROCESSES,
    OP_CALLS,
    OP_TOTAL,
    OP_MOST,
    OP_LEAST,
    OP_MOST_PROCESS,
    OP_FIELDS,
};

enum part_steps_field { STEPS_NAME = 1, STEPS_PACKED, STEPS_FIELDS };

enum part_sketch_field {
    SKETCH_SAMPLES = 1,
    SKETCH_COUNT,
    SKETCH_TOTAL,
    SKETCH_MIN,
    SKETCH_MAX,
    SKETCH_BUCKETS,
    SKETCH_FIELDS,
};

#endif
