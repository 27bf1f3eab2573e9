// Finds and reads the plugin's file without loading it, as doctor does.
#include "tools/sources/slurm/plugin_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include "config.h"
#include "sql/text.h"
#include "tests/spank/temp_folder.h"

namespace goodput {
namespace {

using std::string_view_literals::operator""sv;

class PluginFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = Cat(folder_.path(), "/", name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string Built() {
    std::ifstream in("spank/.libs/spank_goodput.so", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TempFolder folder_;
};

TEST_F(PluginFileTest, TheReleaseOfOurOwnBuildIsTheConfiguredOne) {
  const absl::StatusOr<std::string> release = ReleaseOfPlugin("spank/.libs/spank_goodput.so");
  ASSERT_TRUE(release.ok()) << release.status();
  EXPECT_EQ(*release, GOODPUT_SLURM_RELEASE);
}

TEST_F(PluginFileTest, CutShortAnywhereItIsSaidAndNothingElse) {
  const std::string whole = Built();
  ASSERT_GT(whole.size(), 4096U);
  // The section headers are at the end: without them no symbol can be found.
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{63}, std::size_t{64},
                                 std::size_t{4096}, whole.size() / 2, whole.size() - 1}) {
    const absl::StatusOr<std::string> release = ReleaseOfPlugin(Write("cut.so", whole.substr(0, size)));
    if (size + 1 < whole.size()) {
      EXPECT_FALSE(release.ok()) << size;
    }
  }
  EXPECT_EQ(ReleaseOfPlugin("/nonexistent.so").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PluginFileTest, FlippedBytesNeverCrashIt) {
  std::string bytes = Built();
  // e_ident, e_shoff and e_shnum, which the reader uses.
  for (const std::size_t at : {4, 40, 41, 43, 47, 60, 61}) {
    for (const char flip : {'\xff', '\x01'}) {
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      ReleaseOfPlugin(Write("flipped.so", bytes)).status().IgnoreError();
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
    }
  }
  EXPECT_TRUE(ReleaseOfPlugin(Write("flipped.so", bytes)).ok());
}

TEST_F(PluginFileTest, LinesAreFoundThroughIncludes) {
  const std::string main = Write("plugstack.conf",
                                 "# optional /x/spank_goodput.so\n"
                                 "required /x/other.so\n"
                                 "include plugstack.conf.d/*.conf\n"
                                 "include /nonexistent/*.conf\n"
                                 "required /x/spank_pyxis.so\n"
                                 "optional spank_goodput.so\n");
  Write("plugstack.conf.d/goodput.conf", "\trequired  /y/spank_goodput.so spool=/s socket=@g # ours\n");
  const absl::StatusOr<std::vector<PlugstackLine>> lines = FindGoodputLines(main);
  ASSERT_TRUE(lines.ok()) << lines.status();
  ASSERT_EQ(lines->size(), 2U);
  EXPECT_TRUE((*lines)[0].required);
  EXPECT_EQ((*lines)[0].plugin, "/y/spank_goodput.so");
  EXPECT_EQ((*lines)[0].arguments, (std::vector<std::string>{"spool=/s", "socket=@g"}));
  EXPECT_EQ(ArgumentOf((*lines)[0], "socket"), "@g");
  EXPECT_EQ(ArgumentOf((*lines)[0], "socket_path"), std::nullopt);
  EXPECT_EQ(ArgumentOf({"", false, "", {"socket=@a", "socket_path=/p", "socket=@b"}, ""}, "socket"), "@b");
  EXPECT_FALSE((*lines)[1].required);
  EXPECT_EQ((*lines)[1].where, Cat(main, ":6"));
  EXPECT_EQ((*lines)[0].pyxis, "");
  EXPECT_EQ((*lines)[1].pyxis, Cat(main, ":5"));
}

TEST_F(PluginFileTest, AFileThatIncludesItselfComesToAnEnd) {
  const std::string main = Write("plugstack.conf", "include plugstack.conf\noptional spank_goodput.so\n");
  const absl::StatusOr<std::vector<PlugstackLine>> lines = FindGoodputLines(main);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_LT(lines->size(), 20U);
}

TEST(ReleaseOfVersion, IsTheFirstTwoNumbers) {
  EXPECT_EQ(ReleaseOfVersion("slurm-wlm 22.05.8"), "22.05");
  EXPECT_EQ(ReleaseOfVersion("slurm 25.11.0-rc1\n"), "25.11");
  EXPECT_EQ(ReleaseOfVersion("slurm"), "");
  EXPECT_EQ(ReleaseOfVersion(""), "");
}

std::function<bool(const std::string&)> Only(std::set<std::string> paths) {
  return [paths = std::move(paths)](const std::string& path) { return paths.count(path) != 0; };
}

TEST(FindPlugstack, OnAConfiglessMachineTheControllersCopyCounts) {
  SlurmConfPlaces places;
  places.plugstack = "/usr/local/etc/slurm/plugstack.conf";
  places.slurmd_spool = "/var/spool/slurmd";
  // slurmd and sackd both use this path.
  PlugstackPlace found = FindPlugstack(places, Only({"/run/slurm/conf/slurm.conf"}));
  EXPECT_EQ(found.path, "/run/slurm/conf/plugstack.conf");
  EXPECT_TRUE(found.from_controller);
  found = FindPlugstack(places, Only({"/var/spool/slurmd/conf-cache/slurm.conf"}));
  EXPECT_EQ(found.path, "/var/spool/slurmd/conf-cache/plugstack.conf");
  // An image with its own files, which slurmd ignores with --conf-server.
  places.conf_server = true;
  found = FindPlugstack(places, Only({"/run/slurm/conf/slurm.conf", "/usr/local/etc/slurm/slurm.conf",
                                      "/usr/local/etc/slurm/plugstack.conf"}));
  EXPECT_EQ(found.path, "/run/slurm/conf/plugstack.conf");
}

TEST(FindPlugstack, OnAMachineWithASlurmConfThatOneCounts) {
  SlurmConfPlaces places;
  places.plugstack = "/usr/local/etc/slurm/plugstack.conf";
  const auto controller = Only({"/usr/local/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf"});
  EXPECT_EQ(FindPlugstack(places, controller).path, "/usr/local/etc/slurm/plugstack.conf");
  EXPECT_FALSE(FindPlugstack(places, controller).from_controller);
  // slurmctld does not answer, so the path is not known.
  EXPECT_EQ(FindPlugstack({}, controller).path, "/usr/local/etc/slurm/plugstack.conf");
  EXPECT_EQ(FindPlugstack({}, Only({"/etc/slurm/slurm.conf"})).path, "/etc/slurm/plugstack.conf");
  EXPECT_EQ(FindPlugstack({}, Only({})).path, "/etc/slurm/plugstack.conf");
  SlurmConfPlaces named;
  named.slurm_conf = "/site/slurm.conf";
  EXPECT_EQ(FindPlugstack(named, Only({"/site/slurm.conf", "/etc/slurm/slurm.conf"})).path,
            "/site/plugstack.conf");
}

TEST(FindPlugstack, TheCommandLineOfSlurmdOrSackdSaysIt) {
  EXPECT_TRUE(IsConfServerClient("/usr/local/sbin/slurmd\0-D\0--conf-server\0c-controller:6820\0"sv));
  EXPECT_TRUE(IsConfServerClient("sackd\0--conf-server=c-controller\0"sv));
  EXPECT_FALSE(IsConfServerClient("/usr/sbin/slurmd\0-D\0"sv));
  EXPECT_FALSE(IsConfServerClient("grep\0--conf-server\0"sv));
  EXPECT_FALSE(IsConfServerClient(""));
}

TEST(PluginFile, ASlurmdHasTheConfigurationItWasTold) {
  EXPECT_EQ(ConfOfSlurmd("/usr/sbin/slurmd\0-D\0-s\0"sv), "");
  EXPECT_EQ(ConfOfSlurmd("slurmd\0-D\0-f\0/srv/slurm.conf\0"sv), "/srv/slurm.conf");
  EXPECT_EQ(ConfOfSlurmd("slurmd\0-f/srv/slurm.conf\0"sv), "/srv/slurm.conf");
  EXPECT_EQ(ConfOfSlurmd("slurmd\0-f\0"sv), "");
  EXPECT_EQ(ConfOfSlurmd("slurmctld\0-f\0/srv/slurm.conf\0"sv), std::nullopt);
  EXPECT_EQ(ConfOfSlurmd(""), std::nullopt);
}

}  // namespace
}  // namespace goodput
