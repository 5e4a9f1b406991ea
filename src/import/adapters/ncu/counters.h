// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be wrong with single records of a report, and what it means.

#include "base/counter.h"

namespace nl::adapters::ncu {

inline constexpr CounterInfo kBadRecord{
    "bad_record", Severity::kDataLoss,
    "Line that is not a whole record: a quote is not closed, columns are missing, or its ID is not a number",
    "The readable part is kept and the line is in import_log; print the page again: ncu --import FILE "
    "--csv"};
inline constexpr CounterInfo kOtherLine{
    "line_that_is_no_record", Severity::kInfo,
    "Line between the records: output of the profiled program or of the profiler",
    "Nothing of the report is lost; --log-file keeps them apart"};
inline constexpr CounterInfo kToolWarning{"profiler_warning", Severity::kNotice,
                                          "Warning or error the profiler wrote between the records", ""};
inline constexpr CounterInfo kNoDuration{
    "duration_not_measured", Severity::kNotice, "Kernel of which no duration was measured",
    "Its duration is null; profile with --section SpeedOfLight or --metrics gpu__time_duration.sum"};
inline constexpr CounterInfo kKernelInPieces{
    "kernel_in_pieces", Severity::kNotice, "Rows of a kernel that other kernels' rows stand in between",
    "Its metrics are kept with it; duration and counters are those of its first rows"};
inline constexpr CounterInfo kFewerMetrics{
    "last_kernel_has_fewer_metrics", Severity::kNotice,
    "The last kernel has fewer metrics than the one before: the file may have been cut between two lines",
    "Compare with the report; print the page again if rows are missing"};
inline constexpr CounterInfo kBadSize{"bad_launch_size", Severity::kDataLoss,
                                      "Grid or block size that is not three numbers",
                                      "Null in its columns, as written in args"};
inline constexpr CounterInfo kBadUtf8{"bad_utf8", Severity::kNotice, "Text that is not UTF-8",
                                      "Each bad byte was replaced by U+FFFD"};
inline constexpr CounterInfo kMissingLineEnd{
    "missing_line_end", Severity::kInfo, "The last record has no line end", "It is whole; nothing is lost"};
inline constexpr CounterInfo kTruncated{"truncated", Severity::kDataLoss, "The file ends inside a record",
                                        "The records before it are here; print the page again for the rest"};
inline constexpr CounterInfo kDeviceDiffers{
    "device_described_twice", Severity::kInfo, "Attribute of a device that differs between kernels",
    "The first value is the device's, the other stands in kernel_metric"};

}  // namespace nl::adapters::ncu
