#include "tools/sources/slurm/plugin_file.h"

#include <elf.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "sql/status_macros.h"
#include "sql/text.h"

namespace goodput {
namespace {

constexpr std::size_t kMostBytes = 64U << 20U;  // for a plugin; one with all debug symbols has a few
constexpr std::size_t kMostConfBytes = 1U << 20U;
constexpr int kMostIncludes = 8;  // nested

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t most) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError(Cat(path, ": ", std::strerror(errno)));
  std::string bytes(most + 1, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  if (bytes.size() > most) return absl::InvalidArgumentError(Cat(path, ": too large"));
  return bytes;
}

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

struct Plugstack {
  std::vector<PlugstackLine> found;
  std::string pyxis;  // where its first line is, so far
};

absl::Status ReadPlugstack(const std::string& path, int depth, Plugstack* plugstack) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMostConfBytes));
  int number = 0;
  for (const auto line : absl::StrSplit(text, '\n')) {
    ++number;
    std::vector<std::string> words =
        absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.size() < 2) continue;
    if (words[0] == "include") {
      if (depth == kMostIncludes)
        return absl::InvalidArgumentError(Cat(path, ": includes are nested too deeply"));
      const std::string pattern =
          words[1].front() == '/' ? words[1] : path.substr(0, path.rfind('/') + 1) + words[1];
      glob_t matches{};
      if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
        for (std::size_t i = 0; i < matches.gl_pathc; ++i)
          ReadPlugstack(matches.gl_pathv[i], depth + 1, plugstack).IgnoreError();
      }
      globfree(&matches);
    } else if (BaseName(words[1]) == kPluginFileName) {
      plugstack->found.push_back({Cat(path, ":", number), words[0] == "required", words[1],
                                  std::vector<std::string>(words.begin() + 2, words.end()),
                                  plugstack->pyxis});
    } else if (BaseName(words[1]) == kPyxisFileName && plugstack->pyxis.empty()) {
      plugstack->pyxis = Cat(path, ":", number);
    }
  }
  return absl::OkStatus();
}

// A T at `offset` of the file, if it lies within it.
template <typename T>
std::optional<T> At(const std::string& bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The bytes of the symbol's value: an unsigned int in its section.
std::optional<std::uint32_t> UnsignedSymbol(const std::string& bytes, std::string_view name) {
  const auto header = At<Elf64_Ehdr>(bytes, 0);
  if (!header) return std::nullopt;
  const auto section = [&](std::size_t index) {
    return At<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto table = section(i);
    if (!table) return std::nullopt;
    if (table->sh_type != SHT_DYNSYM) continue;
    const auto names = section(table->sh_link);
    if (!names) return std::nullopt;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size && at < bytes.size();
         at += sizeof(Elf64_Sym)) {
      const auto symbol = At<Elf64_Sym>(bytes, table->sh_offset + at);
      if (!symbol) return std::nullopt;
      const std::uint64_t name_at = names->sh_offset + symbol->st_name;
      if (name_at >= bytes.size() ||
          bytes.compare(name_at, name.size() + 1, name.data(), name.size() + 1) != 0)
        continue;
      const auto home = section(symbol->st_shndx);
      if (!home || symbol->st_value < home->sh_addr) return std::nullopt;
      return At<std::uint32_t>(bytes, home->sh_offset + (symbol->st_value - home->sh_addr));
    }
  }
  return std::nullopt;
}

std::string ProgramOf(const std::vector<std::string>& words) {
  return words.front().substr(words.front().rfind('/') + 1);
}

}  // namespace

std::optional<std::string> ArgumentOf(const PlugstackLine& line, std::string_view name) {
  const std::string begin = Cat(name, "=");
  std::optional<std::string> value;
  for (const std::string& argument : line.arguments) {
    if (absl::StartsWith(argument, begin)) value = argument.substr(begin.size());
  }
  return value;
}

absl::StatusOr<std::vector<PlugstackLine>> FindGoodputLines(const std::string& plugstack) {
  Plugstack read;
  RETURN_IF_ERROR(ReadPlugstack(plugstack, 0, &read));
  return std::move(read.found);
}

PlugstackPlace FindPlugstack(const SlurmConfPlaces& places,
                             const std::function<bool(const std::string&)>& exists) {
  const auto folder_of = [](const std::string& path) { return path.substr(0, path.rfind('/') + 1); };
  // Slurm's default, that of an installation below /usr/local, and the controller's.
  std::vector<std::string> folders = {"/etc/slurm/", "/usr/local/etc/slurm/"};
  if (!places.plugstack.empty()) folders.push_back(folder_of(places.plugstack));
  if (!places.slurm_conf.empty()) folders.insert(folders.begin(), folder_of(places.slurm_conf));
  const auto own = std::find_if(folders.begin(), folders.end(),
                                [&](const std::string& folder) { return exists(folder + "slurm.conf"); });
  if (places.conf_server || own == folders.end()) {
    for (const std::string& cache :
         {std::string("/run/slurm/conf/"), Cat(places.slurmd_spool, "/conf-cache/")}) {
      if (exists(cache + "slurm.conf")) return {cache + "plugstack.conf", true};
    }
  }
  if (!places.plugstack.empty()) return {places.plugstack, false};
  return {(own == folders.end() ? folders.front() : *own) + "plugstack.conf", false};
}

bool IsConfServerClient(std::string_view command_line) {
  const std::vector<std::string> words = absl::StrSplit(ToAbsl(command_line), '\0');
  const std::string program = ProgramOf(words);
  if (program != "slurmd" && program != "sackd") return false;
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word.rfind("--conf-server", 0) == 0; });
}

std::optional<std::string> ConfOfSlurmd(std::string_view command_line) {
  const std::vector<std::string> words = absl::StrSplit(ToAbsl(command_line), '\0');
  if (ProgramOf(words) != "slurmd") return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-f" && i + 1 < words.size()) return words[i + 1];
    if (words[i].size() > 2 && words[i].rfind("-f", 0) == 0) return words[i].substr(2);
  }
  return "";
}

absl::StatusOr<std::string> ReleaseOfPlugin(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMostBytes));
  if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0 ||
      bytes[EI_CLASS] != ELFCLASS64)
    return absl::InvalidArgumentError(Cat(path, ": not a shared object"));
  const std::optional<std::uint32_t> version = UnsignedSymbol(bytes, "plugin_version");
  if (!version) return absl::InvalidArgumentError(Cat(path, ": truncated, or not a Slurm plugin"));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%u.%02u", *version >> 16U, *version >> 8U & 255U);
  return std::string(text.data());
}

std::string ReleaseOfVersion(std::string_view version) {
  const std::size_t digits = version.find_first_of("0123456789");
  if (digits == std::string_view::npos) return "";
  const std::size_t first = version.find('.', digits);
  if (first == std::string_view::npos) return "";
  std::size_t end = first + 1;
  while (end < version.size() && std::isdigit(static_cast<unsigned char>(version[end])) != 0) ++end;
  return std::string(version.substr(digits, end - digits));
}

}  // namespace goodput
