/* SPDX-License-Identifier: Apache-2.0 */
/* names - tables of exact names and of beginnings, tried in order. */
#include "trace/names.h"

#include <ctype.h>

#include "base/banned.h"

static const char *const runtime_names[] = {
    "AllocateOutputBuffersWithInputReuse",
    "Build buffer allocations",
    "ComputeSemaphoreAcquire",
    "Handle input event recording",
    "Handle inputs",
    "InvokeRendezvous",
    "MakeOutputBuffers",
    "MemoryAllocation",
    "MemoryDeallocation",
    "ParseArguments",
    "RecordUsage",
    "Rendezvous",
    "Resolve constant globals",
    "ThenExecuteCallback",
    "cc_shard_arg",
    "cpp_pjit_shard_arg_fallback",
    "lower_sharding_computation",
    "shard_args",
    "np.asarray(jax.Array)",
};

/* What a TPU's runtime writes, by the list in xla/tsl/profiler/utils/xplane_schema.cc. */
static const char *const tpu_names[] = {
    "CustomWait",
    "Delinearize",
    "DoEnqueueContinuationProgram",
    "DoEnqueueProgram",
    "EnqueueRequestLocked",
    "HostCallbackRequest",
    "Linearize",
    "OnDeviceRecvRequest",
    "OnDeviceRecvRequestMulti",
    "OnDeviceSendRecvLocalRequest",
    "OnDeviceSendRequest",
    "OnDeviceSendRequestMulti",
    "PjrtAsyncWait",
    "ReadHbm",
    "RunProgramRequest",
    "TpuExecuteOp",
    "TransferBufferFromDevice-FastPath",
    "TransferD2HRequest",
    "TransferH2DRequest",
    "TransferPreprocessedH2DRequest",
    "WriteHbm",
};

static const char *const runtime_starts[] = {
    "BatchedCopyToDevice",
    "CopyToDevice",
    "DevicePut",
    "ExecuteReplicated",
    "PJRT_",
    "Wait for ",
    "Wait: ",
    "XlaModule:",
    "[", /* "[0] ...Execute (jit_f)": the part of one device */
    "batched_copy_array",
    "batched_device_put",
    "copy_array_to_device",
    "cuda",
    "cuGraph",
    "cuLaunch",
    "cuMem",
    "cuStream",
    "cuEvent",
    "cuModule",
    "hip",
    "jaxpr_",
    "lower_jaxpr",
    "pjit_",
    "tpu::System::",
    "trace_to_jaxpr",
};

static const char *const compile_starts[] = {
    "backend_compile",  "CompileCpuExecutable", "JitCompiler::Compile",
    "CpuCompiler::",    "GpuCompiler::",        "NVPTXCompiler::",
    "AMDGPUCompiler::", "TpuCompiler::",        "XlaCompile",
};

static const char *const worker_starts[] = {
    "tf_", "py_xla_execute", "Host Threads/", "pjrt", "tsl_", "XLA", "Framework", "Source",
};

#define N_OF(table) (sizeof(table) / sizeof((table)[0]))

static bool is_one_of(struct view name, const char *const *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (view_is(name, table[i]))
            return true;
    }
    return false;
}

static bool starts_with_one_of(struct view name, const char *const *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (view_starts(name, table[i]))
            return true;
    }
    return false;
}

/* "CommonPjRtClient::CreateOutputs": a C++ class and its member. Lower case is somebody's own. */
static bool is_member_name(struct view name)
{
    if (name.size == 0 || !isupper(name.data[0]))
        return false;
    for (size_t i = 0; i + 1 < name.size; i++) {
        if (name.data[i] == ':' && name.data[i + 1] == ':')
            return i > 0;
        if (!isalnum(name.data[i]) && name.data[i] != '_')
            return false;
    }
    return false;
}

static bool is_launch(struct view name)
{
    return name.size && name.data[0] != '[' &&
           (view_contains(name, "ExecuteHelper") ||
            view_contains(name, "LoadedExecutable::Execute (") ||
            view_is(name, "TpuExecutable::ExecuteOnStream"));
}

enum name_class name_class_of(struct view name)
{
    if (view_starts(name, "$"))
        return NAME_PYTHON;
    if (view_starts(name, "ThreadpoolListener::")) {
        return view_ends(name, "::Record")        ? NAME_RECORD
               : view_ends(name, "::StartRegion") ? NAME_START
               : view_ends(name, "::StopRegion")  ? NAME_STOP
                                                  : NAME_RUNTIME;
    }
    if (view_starts(name, "end: "))
        return NAME_END;
    if (view_starts(name, "PjitFunction(") || view_starts(name, "PmapFunction("))
        return NAME_CALL;
    if (is_launch(name))
        return NAME_LAUNCH;
    if (starts_with_one_of(name, compile_starts, N_OF(compile_starts)))
        return NAME_COMPILE;
    if (view_ends(name, ":XLA GPU module") || view_contains(name, "ExecuteThunks"))
        return NAME_INSIDE;
    if (view_is(name, "CompleteCallbacks"))
        return NAME_COMPLETED;
    bool runtime = is_member_name(name) ||
                   starts_with_one_of(name, runtime_starts, N_OF(runtime_starts)) ||
                   is_one_of(name, runtime_names, N_OF(runtime_names)) ||
                   is_one_of(name, tpu_names, N_OF(tpu_names));
    return runtime ? NAME_RUNTIME : NAME_PLAIN;
}

struct view name_function(struct view name)
{
    const uint8_t *open = memchr(name.data, '(', name.size);
    if (!open || !view_ends(name, ")"))
        return view_of("", 0);
    size_t from = (size_t)(open - name.data) + 1;
    return view_of(name.data + from, name.size - from - 1);
}

bool name_is_worker_line(struct view line)
{
    return starts_with_one_of(line, worker_starts, N_OF(worker_starts));
}
