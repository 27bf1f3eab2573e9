// The interface between goodputd and goodput-reader: `goodput-reader UID GID DATABASE CONFIG` with these
// descriptors open. CONFIG may be empty.
#pragma once

namespace goodput {

inline constexpr int kReaderControl = 3;  // see control.h
inline constexpr int kReaderProgram = 4;  // the sgoodput program
inline constexpr int kReaderTcp = 5;      // listening; closed if there is none
inline constexpr int kReaderUnix = 6;     // likewise

}  // namespace goodput
