// What goodputd hands to goodput-reader: `goodput-reader UID GID DATABASE CONFIG` with these descriptors
// open. CONFIG may be empty.
#pragma once

namespace goodput {

inline constexpr int kReaderControl = 3;  // see control.h
inline constexpr int kReaderProgram = 4;  // sgoodput, to run
inline constexpr int kReaderTcp = 5;      // listens; closed where there is none
inline constexpr int kReaderUnix = 6;     // likewise

}  // namespace goodput
