// What goodputd hands to goodput-reader: `goodput-reader UID GID DATABASE CONFIG` with these descriptors
// open. CONFIG may be empty.
#ifndef GOODPUT_TOOLS_READER_READER_PROCESS_H_
#define GOODPUT_TOOLS_READER_READER_PROCESS_H_

namespace goodput {

inline constexpr int kReaderControl = 3;  // see control.h
inline constexpr int kReaderProgram = 4;  // sgoodput, to run
inline constexpr int kReaderTcp = 5;      // listens; closed where there is none
inline constexpr int kReaderUnix = 6;     // likewise

}  // namespace goodput

#endif  // GOODPUT_TOOLS_READER_READER_PROCESS_H_
