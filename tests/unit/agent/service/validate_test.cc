// Every field of every served request has a case that is refused by name, and one at its limit
// that passes.

#include "agent/service/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "common/limits.h"
#include "common/strings.h"

namespace sandkeep {
namespace {

namespace v1 = agent::v1;
using testing::HasSubstr;

void Name(v1::SandboxRef* ref) {
  ref->set_principal("key-0123");
  ref->set_label("Amber Otter");
}

constexpr const char* kKey = "amber-otter-aaaaaaaaaaaaaaaa";
constexpr const char* kId = "0123456789abcdef";

// A request that is right in every field; each test breaks one.
v1::StartJobRequest StartJob() {
  v1::StartJobRequest request;
  Name(request.mutable_sandbox());
  request.set_job_id(kId);
  request.set_command("true");
  return request;
}
v1::WatchJobRequest WatchJob() {
  v1::WatchJobRequest request;
  Name(request.mutable_sandbox());
  return request;
}
v1::SendInputRequest SendInput() {
  v1::SendInputRequest request;
  Name(request.mutable_sandbox());
  request.set_job_id(kId);
  return request;
}
v1::SignalJobRequest SignalJob() {
  v1::SignalJobRequest request;
  Name(request.mutable_sandbox());
  request.set_job_id(kId);
  request.set_signal(15);
  return request;
}
v1::ListJobsRequest ListJobs() {
  v1::ListJobsRequest request;
  Name(request.mutable_sandbox());
  return request;
}
v1::ReadOutputRequest ReadOutput() {
  v1::ReadOutputRequest request;
  Name(request.mutable_sandbox());
  request.set_job_id(kId);
  return request;
}
v1::ReadFileRequest ReadFile() {
  v1::ReadFileRequest request;
  Name(request.mutable_sandbox());
  request.set_path("a/b");
  return request;
}
v1::ListFilesRequest ListFiles() {
  v1::ListFilesRequest request;
  Name(request.mutable_sandbox());
  return request;
}

template <typename Result>
void ExpectRefused(const Result& result, const std::string& field) {
  EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << field << ": " << result.status();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(field));
}

// `set` breaks the field of that name in a right request.
void StartJobRefuses(const std::string& field,
                     const std::function<void(v1::StartJobRequest&)>& set) {
  v1::StartJobRequest request = StartJob();
  set(request);
  ExpectRefused(ParseStartJob(request), field);
}

// ---- Which sandbox ----

TEST(ValidateSandboxTest, RefusesEachWrongField) {
  v1::SandboxRef ref;
  Name(&ref);
  EXPECT_TRUE(ParseOwnRef(ref).ok());

  for (const std::string& principal :
       {std::string(), std::string("key"), std::string("KEY-1"), std::string("key_1"),
        "key-" + std::string(kMaxPrincipalBytes, 'a'), std::string("key-\xff")}) {
    v1::SandboxRef wrong = ref;
    wrong.set_principal(principal);
    ExpectRefused(ParseOwnRef(wrong), "principal");
  }
  // proto3 lets no string through that isn't UTF-8; the check stands on its own all the same.
  for (const std::string& label : {std::string(), std::string("!!!"),
                                   std::string(kMaxLabelBytes + 1, 'a'), std::string("a\xff")}) {
    v1::SandboxRef wrong = ref;
    wrong.set_label(label);
    ExpectRefused(ParseOwnRef(wrong), "label");
  }
  v1::SandboxRef wrong = ref;
  wrong.set_key(kKey);
  ExpectRefused(ParseOwnRef(wrong), "key");
}

TEST(ValidateSandboxTest, TheKeyOfALinkAloneNamesASandboxToWhoeverShowsIt) {
  v1::SandboxRef ref;
  ref.set_key("amber-otter-aaaaaaaaaaaaaaaa");
  EXPECT_TRUE(ParseRefOrKey(ref).ok());
  ref.set_principal("key-alice");
  ExpectRefused(ParseRefOrKey(ref), "sandbox");
}

TEST(ValidateSandboxTest, AKeyStandsAloneAndForFilesOnly) {
  v1::ReadFileRequest request = ReadFile();
  request.mutable_sandbox()->Clear();
  request.mutable_sandbox()->set_key(kKey);
  const auto call = ParseReadFile(request);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->ref.key->text(), kKey);
  EXPECT_FALSE(call->ref.principal.has_value());

  request.mutable_sandbox()->set_label("x");
  ExpectRefused(ParseReadFile(request), "sandbox");
  request.mutable_sandbox()->clear_label();
  request.mutable_sandbox()->set_principal("key-1");
  ExpectRefused(ParseReadFile(request), "sandbox");
  request.mutable_sandbox()->clear_principal();
  for (const char* key : {"amber", "../../etc", "amber-otter-AAAAAAAAAAAAAAAA"}) {
    request.mutable_sandbox()->set_key(key);
    ExpectRefused(ParseReadFile(request), "key");
  }
}

// ---- StartJob ----

TEST(ValidateStartJobTest, TakesARightRequestAsItIs) {
  v1::StartJobRequest request = StartJob();
  request.set_cwd("/srv");
  request.set_stdin(std::string("a\0b", 3));
  request.set_keep_stdin(true);
  request.set_timeout_ms(1500);
  request.set_grace_ms(10);
  (*request.mutable_env())["B"] = "2";
  (*request.mutable_env())["A_1"] = "";
  const auto call = ParseStartJob(request);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->principal.text(), "key-0123");
  EXPECT_EQ(call->label, "Amber Otter");
  EXPECT_EQ(call->spec.id.bytes(), kId);
  EXPECT_EQ(call->spec.cwd, "/srv");
  EXPECT_EQ(call->spec.stdin_text.size(), 3u);
  EXPECT_TRUE(call->spec.keep_stdin);
  EXPECT_FALSE(call->spec.merge_streams);
  EXPECT_EQ(call->spec.timeout, absl::Milliseconds(1500));
  EXPECT_EQ(call->spec.grace, absl::Milliseconds(10));
  const std::vector<std::pair<std::string, std::string>> env = {{"A_1", ""}, {"B", "2"}};
  EXPECT_EQ(call->spec.env, env);
}

TEST(ValidateStartJobTest, ZeroMeansTheDefault) {
  const auto call = ParseStartJob(StartJob());
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->spec.timeout, absl::InfiniteDuration());
  EXPECT_EQ(call->spec.grace, absl::FromChrono(kStopGrace));
}

TEST(ValidateStartJobTest, RefusesAJobIdOfAnotherLength) {
  for (const std::string& id : {std::string(), std::string(15, 'x'), std::string(17, 'x')}) {
    StartJobRefuses("job_id", [&](auto& request) { request.set_job_id(id); });
  }
}

TEST(ValidateStartJobTest, RefusesACommandThatIsEmptyTooLongOrHasNul) {
  StartJobRefuses("command", [](auto& request) { request.set_command(""); });
  StartJobRefuses("command", [](auto& request) {
    request.set_command(std::string(kMaxCommandBytes + 1, 'x'));
  });
  StartJobRefuses("command", [](auto& request) { request.set_command(std::string("a\0b", 3)); });
  v1::StartJobRequest request = StartJob();
  request.set_command(std::string(kMaxCommandBytes, '\xff'));
  EXPECT_TRUE(ParseStartJob(request).ok()) << "any bytes but NUL, up to the limit";
}

TEST(ValidateStartJobTest, RefusesAFolderThatIsRelativeTooLongOrHasNul) {
  StartJobRefuses("cwd", [](auto& request) { request.set_cwd("relative"); });
  StartJobRefuses("cwd", [](auto& request) { request.set_cwd(std::string("/a\0b", 4)); });
  StartJobRefuses("cwd",
                  [](auto& request) { request.set_cwd("/" + std::string(kMaxPathBytes, 'x')); });
}

TEST(ValidateStartJobTest, RefusesEnvironmentsOfWrongNamesValuesOrSizes) {
  for (const std::string& name : {std::string(), std::string("1A"), std::string("A=B"),
                                  std::string("A B"), std::string("\xC3\xA4")}) {
    StartJobRefuses("env", [&](auto& request) { (*request.mutable_env())[name] = "x"; });
  }
  StartJobRefuses("env",
                  [](auto& request) { (*request.mutable_env())["A"] = std::string("a\0b", 3); });
  StartJobRefuses(
      "env", [](auto& request) { (*request.mutable_env())["A"] = std::string(kMaxEnvBytes, 'x'); });
  StartJobRefuses("env", [](auto& request) {
    for (std::size_t i = 0; i <= kMaxEnvEntries; ++i) (*request.mutable_env())[StrCat("A", i)] = "";
  });
}

TEST(ValidateStartJobTest, RefusesTooMuchInput) {
  StartJobRefuses("stdin",
                  [](auto& request) { request.set_stdin(std::string(kMaxStdinBytes + 1, 'x')); });
}

TEST(ValidateStartJobTest, RefusesTimesOutOfRange) {
  StartJobRefuses("timeout_ms", [](auto& request) { request.set_timeout_ms(-1); });
  StartJobRefuses("grace_ms", [](auto& request) { request.set_grace_ms(-1); });
  StartJobRefuses("grace_ms", [](auto& request) { request.set_grace_ms(kMaxGrace.count() + 1); });
}

TEST(ValidateStartJobTest, SaysThatTerminalsAreNotServed) {
  v1::StartJobRequest request = StartJob();
  request.mutable_terminal()->set_columns(80);
  EXPECT_TRUE(absl::IsUnimplemented(ParseStartJob(request).status()));
}

// ---- The other calls about jobs ----

TEST(ValidateWatchJobTest, RefusesEachWrongField) {
  EXPECT_FALSE(ParseWatchJob(WatchJob())->id.has_value()) << "no id: the newest job";
  v1::WatchJobRequest request = WatchJob();
  request.set_job_id("short");
  ExpectRefused(ParseWatchJob(request), "job_id");
  request = WatchJob();
  request.set_from_offset(-1);
  ExpectRefused(ParseWatchJob(request), "from_offset");
  request = WatchJob();
  request.clear_sandbox();
  ExpectRefused(ParseWatchJob(request), "principal");
}

TEST(ValidateSendInputTest, RefusesEachWrongField) {
  EXPECT_TRUE(ParseSendInput(SendInput()).ok());
  v1::SendInputRequest request = SendInput();
  request.set_job_id("");
  ExpectRefused(ParseSendInput(request), "job_id");
  request = SendInput();
  request.set_data(std::string(kMaxInputBytes + 1, 'x'));
  ExpectRefused(ParseSendInput(request), "data");
  request = SendInput();
  request.clear_sandbox();
  ExpectRefused(ParseSendInput(request), "principal");
}

TEST(ValidateSignalJobTest, RefusesEachWrongField) {
  EXPECT_TRUE(ParseSignalJob(SignalJob()).ok());
  for (const int signal : {0, -9, 65}) {
    v1::SignalJobRequest request = SignalJob();
    request.set_signal(signal);
    ExpectRefused(ParseSignalJob(request), "signal");
  }
  v1::SignalJobRequest request = SignalJob();
  request.set_job_id("");
  ExpectRefused(ParseSignalJob(request), "job_id");
  request = SignalJob();
  request.set_grace_ms(kMaxGrace.count() + 1);
  ExpectRefused(ParseSignalJob(request), "grace_ms");
  request = SignalJob();
  request.clear_sandbox();
  ExpectRefused(ParseSignalJob(request), "principal");
}

TEST(ValidateListJobsTest, RefusesEachWrongField) {
  EXPECT_EQ(ParseListJobs(ListJobs())->limit, 20);
  for (const int limit : {-1, kMaxListedJobs + 1}) {
    v1::ListJobsRequest request = ListJobs();
    request.set_limit(limit);
    ExpectRefused(ParseListJobs(request), "limit");
  }
  v1::ListJobsRequest request = ListJobs();
  request.clear_sandbox();
  ExpectRefused(ParseListJobs(request), "principal");
}

TEST(ValidateReadOutputTest, RefusesEachWrongField) {
  EXPECT_EQ(ParseReadOutput(ReadOutput())->limit, static_cast<std::int64_t>(kMaxReadOutputBytes));
  v1::ReadOutputRequest request = ReadOutput();
  request.set_job_id("x");
  ExpectRefused(ParseReadOutput(request), "job_id");
  request = ReadOutput();
  request.set_stream(static_cast<v1::Stream>(7));
  ExpectRefused(ParseReadOutput(request), "stream");
  request = ReadOutput();
  request.set_offset(-1);
  ExpectRefused(ParseReadOutput(request), "offset");
  for (const std::int64_t limit : {std::int64_t{-1}, static_cast<std::int64_t>(1) << 40}) {
    request = ReadOutput();
    request.set_limit(limit);
    ExpectRefused(ParseReadOutput(request), "limit");
  }
  request = ReadOutput();
  request.clear_sandbox();
  ExpectRefused(ParseReadOutput(request), "principal");
  // Links to all of a job's output carry a key.
  request = ReadOutput();
  request.clear_sandbox();
  request.mutable_sandbox()->set_key(kKey);
  EXPECT_EQ(ParseReadOutput(request)->ref.key->text(), kKey);
  for (const auto& [stream, expected] : {std::pair(v1::STREAM_UNSPECIFIED, OutputStream::kMerged),
                                         std::pair(v1::STDOUT, OutputStream::kStdout),
                                         std::pair(v1::STDERR, OutputStream::kStderr)}) {
    request = ReadOutput();
    request.set_stream(stream);
    EXPECT_EQ(ParseReadOutput(request)->stream, expected);
  }
}

// ---- Sandboxes ----

TEST(ValidateListSandboxesTest, RefusesEachWrongField) {
  v1::ListSandboxesRequest request;
  EXPECT_FALSE(ParseListSandboxes(request)->principal.has_value());
  EXPECT_EQ(ParseListSandboxes(request)->limit, 100);
  request.set_principal("nobody");
  ExpectRefused(ParseListSandboxes(request), "principal");
  request.set_principal("key-1");
  request.set_limit(kMaxListedSandboxes + 1);
  ExpectRefused(ParseListSandboxes(request), "limit");
}

// ---- Files ----

TEST(ValidateFilesTest, RefusesPathsThatLeadOutOrAreNone) {
  for (const std::string& path :
       {std::string("/etc/passwd"), std::string("../x"), std::string("a/../../b"),
        std::string("a\0b", 3), std::string(kMaxPathBytes + 1, 'a'),
        std::string(kMaxNameBytes + 1, 'a')}) {
    v1::ReadFileRequest read = ReadFile();
    read.set_path(path);
    ExpectRefused(ParseReadFile(read), "path");
    v1::StatFileRequest stat;
    Name(stat.mutable_sandbox());
    stat.set_path(path);
    ExpectRefused(ParseStatFile(stat), "path");
    v1::ListFilesRequest list = ListFiles();
    list.set_path(path);
    ExpectRefused(ParseListFiles(list), "path");
  }
  v1::ReadFileRequest read = ReadFile();
  read.set_path("./");
  ExpectRefused(ParseReadFile(read), "path");
}

TEST(ValidateFilesTest, RefusesRangesThatAreNone) {
  EXPECT_FALSE(ParseReadFile(ReadFile())->length.has_value());
  v1::ReadFileRequest request = ReadFile();
  request.set_offset(-1);
  ExpectRefused(ParseReadFile(request), "offset");
  request = ReadFile();
  request.set_length(-1);
  ExpectRefused(ParseReadFile(request), "length");
}

TEST(ValidateFilesTest, RefusesAnEtagThatIsNone) {
  v1::ReadFileRequest request = ReadFile();
  request.set_if_etag(std::string(kMaxEtagBytes + 1, 'x'));
  ExpectRefused(ParseReadFile(request), "if_etag");
}

TEST(ValidateFilesTest, RefusesAListingOutOfRange) {
  EXPECT_EQ(ParseListFiles(ListFiles())->query.limit, 200u);
  v1::ListFilesRequest request = ListFiles();
  request.set_limit(kMaxListedFiles + 1);
  ExpectRefused(ParseListFiles(request), "limit");
  request = ListFiles();
  request.set_pattern("../*.txt");
  ExpectRefused(ParseListFiles(request), "pattern");
  request.set_pattern("*.txt");
  const Glob pattern = ParseListFiles(request)->query.pattern;
  EXPECT_TRUE(pattern.IsMatch(pattern.Step(pattern.Start(), "a.txt")));
  request.set_after("a");
  request.set_newest_first(true);
  ExpectRefused(ParseListFiles(request), "after");
}

TEST(ValidateFilesTest, RefusesAWriteThatContradictsItself) {
  v1::WriteFileHeader good;
  good.mutable_sandbox()->set_principal("key-1");
  good.mutable_sandbox()->set_label("amber");
  good.set_path("a/b");
  good.set_size(10);
  EXPECT_TRUE(ParseWriteFile(good).ok()) << ParseWriteFile(good).status();
  const auto refused = [&](auto change, const std::string& field) {
    v1::WriteFileHeader header = good;
    change(header);
    ExpectRefused(ParseWriteFile(header), field);
  };
  refused([](auto& header) { header.set_path(""); }, "path");
  refused([](auto& header) { header.set_path("../x"); }, "path");
  refused([](auto& header) { header.set_size(-1); }, "size");
  refused([](auto& header) { header.set_size(kMaxUploadBytes + 1); }, "size");
  refused([](auto& header) { header.set_upload("short"); }, "upload");
  refused([](auto& header) { header.set_offset(1); }, "upload");
  refused([](auto& header) { header.set_abandon(true); }, "upload");
  refused([](auto& header) { header.set_if_etag(std::string(kMaxEtagBytes + 1, 'x')); }, "if_etag");
  const std::string upload(16, 'u');
  refused([&](auto& header) { header.set_upload(upload), header.set_offset(11); }, "offset");
  refused([&](auto& header) { header.set_upload(upload), header.set_append(true); }, "append");
  good.set_if_etag("*");
  EXPECT_TRUE(ParseWriteFile(good)->must_exist);
  good.set_if_etag("-");
  EXPECT_TRUE(ParseWriteFile(good)->must_be_new);
}

TEST(ValidateFilesTest, RefusesAMissingSandbox) {
  v1::StatFileRequest stat;
  stat.set_path("a");
  ExpectRefused(ParseStatFile(stat), "principal");
  v1::ReadFileRequest read = ReadFile();
  read.clear_sandbox();
  ExpectRefused(ParseReadFile(read), "principal");
  v1::ListFilesRequest list;
  ExpectRefused(ParseListFiles(list), "principal");
}

}  // namespace
}  // namespace sandkeep
