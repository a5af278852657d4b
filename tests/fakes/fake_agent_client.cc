#include "tests/fakes/fake_agent_client.h"

namespace sandkeep {

namespace v1 = agent::v1;

JobEventStream FakeAgentClient::StartJob(v1::StartJobRequest request) {
  return start_job.Call(std::move(request));
}
JobEventStream FakeAgentClient::WatchJob(v1::WatchJobRequest request) {
  return watch_job.Call(std::move(request));
}
FileChunkStream FakeAgentClient::ReadFile(v1::ReadFileRequest request) {
  return read_file.Call(std::move(request));
}
std::unique_ptr<FileSink> FakeAgentClient::WriteFile(v1::WriteFileHeader header) {
  return write_file.Open(std::move(header));
}
Async<v1::SendInputResponse> FakeAgentClient::SendInput(v1::SendInputRequest request) {
  return send_input.Call(std::move(request));
}
Async<v1::SignalJobResponse> FakeAgentClient::SignalJob(v1::SignalJobRequest request) {
  return signal_job.Call(std::move(request));
}
Async<v1::ListJobsResponse> FakeAgentClient::ListJobs(v1::ListJobsRequest request) {
  return list_jobs.Call(std::move(request));
}
Async<v1::ReadOutputResponse> FakeAgentClient::ReadOutput(v1::ReadOutputRequest request) {
  return read_output.Call(std::move(request));
}
Async<v1::ListSandboxesResponse> FakeAgentClient::ListSandboxes(v1::ListSandboxesRequest request) {
  return list_sandboxes.Call(std::move(request));
}
Async<v1::Sandbox> FakeAgentClient::GetSandbox(v1::GetSandboxRequest request) {
  return get_sandbox.Call(std::move(request));
}
Async<v1::RemoveSandboxResponse> FakeAgentClient::RemoveSandbox(v1::RemoveSandboxRequest request) {
  return remove_sandbox.Call(std::move(request));
}
Async<v1::Sandbox> FakeAgentClient::Freeze(v1::FreezeRequest request) {
  return freeze.Call(std::move(request));
}
Async<v1::Sandbox> FakeAgentClient::Thaw(v1::ThawRequest request) {
  return thaw.Call(std::move(request));
}
Async<v1::FileInfo> FakeAgentClient::StatFile(v1::StatFileRequest request) {
  return stat_file.Call(std::move(request));
}
Async<v1::OpenFileResponse> FakeAgentClient::OpenFile(v1::OpenFileRequest request) {
  return open_file.Call(std::move(request));
}
Async<v1::DeleteFileResponse> FakeAgentClient::DeleteFile(v1::DeleteFileRequest request) {
  return delete_file.Call(std::move(request));
}
Async<v1::ListFilesResponse> FakeAgentClient::ListFiles(v1::ListFilesRequest request) {
  return list_files.Call(std::move(request));
}
Async<v1::RenderImageResponse> FakeAgentClient::RenderImage(v1::RenderImageRequest request) {
  return render_image.Call(std::move(request));
}
Async<v1::Info> FakeAgentClient::GetInfo(v1::GetInfoRequest request) {
  return get_info.Call(std::move(request));
}
Async<v1::CollectGarbageResponse> FakeAgentClient::CollectGarbage(
    v1::CollectGarbageRequest request) {
  return collect_garbage.Call(std::move(request));
}

}  // namespace sandkeep
