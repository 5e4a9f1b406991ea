// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with a capture or single records of it, and what it means.

#include "base/counter.h"
#include "model/loss_reason.h"

namespace nl::adapters::nlcap {

inline constexpr CounterInfo kNotClosed{
    "recording_not_closed", Severity::kNotice,
    "File of a process that did not close it: killed, crashed, replaced by exec, or still running",
    "Everything up to its last write (every 0.1 s; GPU work every second) is here"};
inline constexpr CounterInfo kDamagedChunk{"damaged_chunk", Severity::kDataLoss,
                                           "Part of the capture that is cut or whose checksum is wrong",
                                           "Its records are missing; copy or record it again"};
inline constexpr CounterInfo kUnknownChunk{"unknown_chunk", Severity::kNotice,
                                           "Part of the capture of a kind this version does not know",
                                           "A newer NeuroLens recorded it: import with that one"};
inline constexpr CounterInfo kBadRecord{
    "bad_record", Severity::kDataLoss, "Record that contradicts itself: sizes, numbers or times out of range",
    "Left out; the place is in import_log"};
inline constexpr CounterInfo kBadDuration{"bad_duration", Severity::kDataLoss,
                                          "Record that ends before it starts or lasts over a year",
                                          "Kept with a null duration"};
inline constexpr CounterInfo kNoEnd{"work_without_end", Severity::kNotice,
                                    "Work on a device that had not ended when recording stopped",
                                    "Kept with a null duration"};
inline constexpr CounterInfo kMissingString{"missing_string", Severity::kDataLoss,
                                            "Name whose text is not in the capture",
                                            "Lost with a damaged part, or beyond the memory for names"};
inline constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                                      "Each bad byte was replaced by U+FFFD"};
inline constexpr CounterInfo kBeginWithoutEnd{"begin_without_end", Severity::kNotice,
                                              "Range that was still open when recording stopped",
                                              "Kept with a null duration"};
inline constexpr CounterInfo kEndWithoutBegin{
    "end_without_begin", Severity::kInfo, "Range that ended but had started before recording was switched on",
    "Not kept: its name is not known"};
inline constexpr CounterInfo kCausality{
    "kernel_before_its_launch", Severity::kNotice,
    "Device work that starts before the call that launched it, by more than the clocks may be off",
    "Kept as recorded and marked suspect in args; the clock of device and host disagree there"};
inline constexpr CounterInfo kNoClock{
    "gpu_clock_not_calibrated", Severity::kDataLoss,
    "Process with GPU records but without a pair of GPU and host clock",
    "Its GPU times were taken as wall clock time; compare them with host times with care"};
inline constexpr CounterInfo kSeveralMachines{
    "several_machines", Severity::kNotice, "Files of more than one machine or boot in one capture",
    "Put on one time line by their wall clocks: good to the synchronisation of those"};
inline constexpr CounterInfo kRecorderMessage{"recorder_message", Severity::kNotice,
                                              "Warning or error of the recorder itself", ""};
inline constexpr CounterInfo kRecorderSamples{"recorder_samples", Severity::kInfo,
                                              "CPU sample of the recorder's own thread in the program",
                                              "Left out: it is not the program's time"};
inline constexpr CounterInfo kLost{kRecordsLost, Severity::kDataLoss,
                                   "Records that the recorder or CUPTI had to drop",
                                   "import_log has the reason; a larger --buffer-mb or fewer kinds may help"};
inline constexpr CounterInfo kNoStack{"cpu_samples_without_stack", Severity::kNotice,
                                      "CPU samples whose stack could not be read",
                                      "Their time is kept, without a function"};
inline constexpr CounterInfo kThinned{"records_thinned", Severity::kNotice,
                                      "Records left out on purpose to hold the cost to the budget",
                                      "Raise --budget to record them"};
inline constexpr CounterInfo kPausedForBudget{
    "paused_for_budget", Severity::kNotice,
    "Times the recording paused to hold its cost to the budget; what happened then is not in the run",
    "Raise --budget, or record fewer kinds (--no-ops, --no-modules)"};
inline constexpr CounterInfo kNotObserved{
    "operators_not_observed", Severity::kInfo,
    "Stretches in which operators were not observed, as the default detail has it to save the program's time",
    "Work in them has the operator of the same launches in observed steps where they agree; --detail full "
    "observes all"};
inline constexpr CounterInfo kTextCut{"text_cut", Severity::kNotice, "Text longer than 8,192 bytes",
                                      "Its beginning is kept"};
inline constexpr CounterInfo kNotSampled{
    "kernels_without_counters", Severity::kInfo,
    "Kernels of which no sample of the hardware counters was taken while they ran alone",
    "Their counters are null; sample more often (--counter-interval-us) or record more executions"};
inline constexpr CounterInfo kSharedReading{
    "counter_samples_shared", Severity::kInfo,
    "Samples of the hardware counters during which several kernels ran", "Given to none of them"};

}  // namespace nl::adapters::nlcap
