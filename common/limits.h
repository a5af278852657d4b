// Every limit of the system, with its unit and its reason. Nothing reads as a bare number
// elsewhere; what an operator may change is a setting (common/settings.h) and its ceiling stands
// here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sandkeep {

inline constexpr std::size_t operator""_KiB(unsigned long long n) { return n << 10; }
inline constexpr std::size_t operator""_MiB(unsigned long long n) { return n << 20; }

// ---- The log ----
// Of one value in a line: journald cuts at 48 KiB, and nothing of ours is worth more than this.
inline constexpr std::size_t kMaxLogValueBytes = 2048;

// ---- Names ----
// A label is typed by a model and read by people; 64 bytes hold any sensible one.
inline constexpr std::size_t kMaxLabelBytes = 64;
inline constexpr std::size_t kMaxPrincipalBytes = 64;
// The readable half of a key: links carry it, and models copy links.
inline constexpr std::size_t kMaxSlugChars = 24;
// Linux: PATH_MAX and NAME_MAX.
inline constexpr std::size_t kMaxPathBytes = 4096;
inline constexpr std::size_t kMaxNameBytes = 255;

// ---- Commands ----
// Models send scripts and files as heredocs; above this they should write a file.
inline constexpr std::size_t kMaxCommandBytes = 1_MiB;
inline constexpr std::size_t kMaxEnvEntries = 128;
inline constexpr std::size_t kMaxEnvBytes = 64_KiB;
inline constexpr std::size_t kMaxStdinBytes = 16_MiB;
// What the commands of one sandbox have been given and may not have read yet.
inline constexpr std::int64_t kMaxPendingInputBytes = 64_MiB;
// One write to a running job's input.
inline constexpr std::size_t kMaxInputBytes = 1_MiB;
// What ListJobs shows of a command.
inline constexpr std::size_t kCommandHeadChars = 80;
// Of a job's spool, the part that is kept from its start; the rest of JOB_SPOOL_MAX is its end.
inline constexpr std::int64_t kSpoolHeadBytes = 16LL << 20;
// A fast writer's pipe is made as wide as one turn takes, and so many at once: a quarter of the
// 64 MiB that the kernel gives the pipes of a user.
inline constexpr int kWidePipeBytes = 1 << 20;
inline constexpr int kMaxWidePipes = 16;
// Fast is who prints as much in such a time, and no longer who prints less than a quarter of it.
inline constexpr std::chrono::milliseconds kFastWriterTime{10};
inline constexpr std::int64_t kFastWriterBytes = 1LL << 20;
// Between two reads of a wide pipe that was emptied: a fast writer fills a good part of it.
inline constexpr std::chrono::microseconds kWidePipeCoalesce{200};
// What a turn finds of a writer that fills its wide pipe before that is over, and would wait.
inline constexpr std::int64_t kOverfullPipeBytes = kWidePipeBytes / 2;
// After a command's exit, for bytes still in the pipe when a process left behind holds it open.
inline constexpr std::chrono::milliseconds kExitGrace{50};
// At most this long, even if it never falls silent: what the command itself printed is out of the
// pipe by then.
inline constexpr std::chrono::milliseconds kExitGraceMax{500};
// At a command's end, reads of each pipe: what its last writes left, few bytes each, and the end of
// file.
inline constexpr int kDrainTries = 64;
// After SIGKILL, for the kernel and init to say so; then the job ends without their word.
inline constexpr std::chrono::milliseconds kKillWait{5000};
// Between two reads of a slow writer's pipe: a one-byte writer must not cost the agent a CPU.
inline constexpr std::chrono::milliseconds kSpliceCoalesce{2};
// A turn that moved less is a slow writer's.
inline constexpr std::size_t kSpliceCoalesceBelow = 4_KiB;
// Between two tries when the spool's disk is full: the bytes wait in the pipe, the writers with
// them.
inline constexpr std::chrono::milliseconds kSpoolRetry{1000};
// A spool's middle is given back in whole steps: the end of the dropped range is a multiple of it.
inline constexpr std::int64_t kSpoolDropStep = 1LL << 20;
// What a running job may keep, whatever others hold.
inline constexpr std::int64_t kLeastSpoolBytes = 2LL << 20;
// An outcome is on its way to who waits for it before it is recorded: until then init has it.
inline constexpr std::chrono::milliseconds kRecordDelay{1};
// Between two tries to record how a job ended.
inline constexpr std::chrono::milliseconds kRecordRetry{2000};
// One turn of one pipe, so that a flood in one sandbox doesn't keep the others waiting. No less
// than kWidePipeBytes, or the last bytes of a command would need more than one.
inline constexpr std::size_t kSpliceTurnBytes = 1_MiB;
// SIGTERM to SIGKILL: at a deadline or stop; at an explicit cancel; when the caller's stream
// closed.
inline constexpr std::chrono::milliseconds kStopGrace{2000};
inline constexpr std::chrono::milliseconds kCancelGrace{150};
inline constexpr std::chrono::milliseconds kDisconnectGrace{10000};
inline constexpr std::chrono::milliseconds kMaxGrace{60000};

// ---- The channel to init ----
inline constexpr std::size_t kMaxInitFrameBytes = 64_KiB;
inline constexpr std::size_t kMaxCommandPartBytes = 48_KiB;
inline constexpr std::size_t kMaxFrameDescriptors = 8;
// What init hands to a supervisor that waits: folder and variables, which came in one frame, and
// those that every command has.
inline constexpr std::size_t kMaxHandOverBytes = kMaxInitFrameBytes + 4_KiB;
inline constexpr std::size_t kMaxHandOverEntries = kMaxEnvEntries + 16;
// While commands run, init makes its next supervisor when it has been idle for so long.
inline constexpr std::chrono::milliseconds kSpareDelay{5};
// How often init looks whether a command with an open input waits for it: a person's patience.
inline constexpr std::chrono::milliseconds kInputLookInterval{300};
// The same for ports that began to listen: soon after a command started or ended, then more and
// more rarely. A scan of all ports from inside mustn't become news.
inline constexpr std::chrono::milliseconds kFirstPortLook{300};
inline constexpr std::chrono::milliseconds kLastPortLook{5000};
inline constexpr std::size_t kMaxPortsTold = 8;
inline constexpr std::size_t kMaxPortTableBytes = 64_KiB;
// The kernel puts no more into one part of it for who takes no more.
inline constexpr std::size_t kMaxPortTablePartBytes = 8_KiB;
// Waits told of in one look, so that no number of them makes more frames than kMaxIdleInitFrames.
inline constexpr int kMaxWaitsTold = 64;
// Signals of one job that come before it runs.
inline constexpr std::size_t kMaxEarlySignals = 8;
// Until a frame that the kernel had no memory for is tried again.
inline constexpr std::chrono::milliseconds kStarvedPause{20};
// A longer command is rare and has its shell made for it: what waits in each sandbox stays small.
inline constexpr std::size_t kMaxStandbyCommandBytes = 64_KiB;
// Jobs that init holds at once, ended ones that the agent hasn't recorded included.
inline constexpr std::size_t kMaxInitJobs = 512;
// Of its jobs, what init names in one HelloReply: far below a frame.
inline constexpr std::size_t kMaxHelloJobs = 64;
// Replies that wait in init while nobody reads; more than HelloReply ever takes.
inline constexpr std::size_t kMaxInitReplies = 256;
// Requests that init takes before it looks after its children again.
inline constexpr int kMaxInitRequestsATurn = 64;
// A tree is stopped before it is killed; a fork bomb may take several looks to be all stopped.
inline constexpr int kMaxSweepPasses = 4;
// Between two turns of killing a tree: soon at first, then rarely for what can't die yet.
inline constexpr std::chrono::milliseconds kFirstSweepInterval{1};
inline constexpr std::chrono::milliseconds kLastSweepInterval{250};
// What waits for an init that doesn't read: a few whole commands.
inline constexpr std::size_t kMaxInitQueueBytes = 8_MiB;
// Frames of one channel handled before other sandboxes have their turn.
inline constexpr int kInitFramesPerTurn = 64;
// Frames a second that change nothing (a port, a wait for input). An init that sends more is no
// longer ours.
inline constexpr int kMaxIdleInitFrames = 500;
// Unread frames of an earlier agent's time: as many as a socket's queue holds, with room.
inline constexpr int kMaxStaleInitFrames = 8192;
// Since a command's exit, longer than any machine is up: a number that fits every duration.
inline constexpr std::int64_t kMaxExitedMsAgo = std::int64_t{1} << 40;
// Linux: PID_MAX_LIMIT.
inline constexpr std::uint32_t kMaxPid = 4 << 20;

// ---- The agent's API ----
// StartJob with a full command and stdin.
inline constexpr std::size_t kMaxRpcRequestBytes = 18_MiB;
inline constexpr std::size_t kMaxJobOutputChunk = 64_KiB;
inline constexpr std::size_t kMaxFileChunk = 256_KiB;
// Of a long copy, before others have their turn.
inline constexpr std::int64_t kCopyTurnBytes = 16LL << 20;
// Of the gateway's questions for descriptors, those that the agent doesn't take: far more than it
// leaves unread.
inline constexpr std::size_t kMaxWaitingFrames = 4096;
inline constexpr std::size_t kMaxReadOutputBytes = 1_MiB;
// Counted per uid, so that no uid can take the gateway's.
inline constexpr int kMaxConnectionsPerUid = 16;
inline constexpr int kMaxConcurrentStreams = 1024;
inline constexpr std::size_t kMaxRpcMetadataBytes = 8_KiB;
inline constexpr std::chrono::seconds kRpcDeadline{30};
// The longest answer that is no stream: 500 sandboxes, 1000 files, 1 MiB of output.
inline constexpr std::size_t kMaxRpcResponseBytes = 6_MiB;
inline constexpr int kMaxListedJobs = 100;
inline constexpr int kMaxListedSandboxes = 500;
inline constexpr int kMaxListedFiles = 1000;
// Ours have 22.
inline constexpr std::size_t kMaxEtagBytes = 64;
// Calls of one uid that the agent works on at once, whatever their connections: room for 16 times
// the watchers of a busy gateway.
inline constexpr int kMaxCallsPerUid = 4096;
// A peer that connects and says nothing is closed after this; a starved one still gets in.
inline constexpr std::chrono::milliseconds kRpcHandshakeDeadline{5000};
// What gRPC may hold for all connections together: a handful of the largest requests.
inline constexpr std::size_t kRpcMemoryBytes = 256_MiB;
// Reading files may wait for the disk; nothing else of the agent's does so on these.
inline constexpr int kFileReadThreads = 2;
// Writing out what was written waits for all that others wrote to the same disk: it must not keep
// who reads.
inline constexpr int kFileFlushThreads = 2;
// Of a file that is written, the agent takes the next part or has failed; its end waits until all
// of it is on the disk.
inline constexpr std::chrono::seconds kFilePartDeadline{60};
inline constexpr std::chrono::seconds kFileEndDeadline{300};
// An error's text travels in metadata, percent-encoded: three times itself in the worst case.
inline constexpr std::size_t kMaxRpcErrorBytes = 2_KiB;
// What HTTP/2 may hold for a stream whose reader is slow: measured at 33 MB for 20 of them, against
// 133 MB with a window that grows by probing.
inline constexpr int kRpcWindowBytes = 256 << 10;
// An agent that restarts is seen again within the first of these after a short outage, within the
// second after a long one.
inline constexpr std::chrono::milliseconds kReconnectBackoff{50};
inline constexpr std::chrono::milliseconds kMaxReconnectBackoff{500};
// One attempt to connect, HTTP/2 greeting included; an agent that hangs is unavailable after it.
inline constexpr std::chrono::milliseconds kConnectDeadline{900};
// While calls wait, an agent that takes and gives nothing is asked whether it lives, and given up
// after as long again: a command may be silent for hours, a stopped agent is so for ever. The agent
// takes twice as many questions.
inline constexpr std::chrono::milliseconds kRpcAliveInterval{10000};
// A ticket for an open file: a front end fetches at once, milliseconds even on a busy machine.
inline constexpr std::chrono::milliseconds kTicketLifetime{5000};
// Of one peer, waiting or with it, each a descriptor: four times the downloads that a gateway
// serves at once.
inline constexpr std::size_t kMaxFileTickets = 1024;
inline constexpr std::size_t kMaxFilesHanded = 1024;
// Until the socket for descriptors is tried again: an agent that restarts is back within the first,
// rules that forbid it don't change by themselves.
inline constexpr std::chrono::milliseconds kDoorPause{500};
inline constexpr std::chrono::milliseconds kRefusedDoorPause{10000};
// The agent only looks the ticket up.
inline constexpr std::chrono::milliseconds kFetchDeadline{2000};

// From a signal to the end, whatever hangs: well under the time after which systemd kills. Stopping
// all sandboxes takes seconds, unless the engine is slow.
inline constexpr unsigned kEndSeconds = 10;
inline constexpr unsigned kStopAllSeconds = 150;

// Nothing blocks on a strand, and a second thread would only add wake-ups.
inline constexpr int kAgentThreads = 1;
// Spools may make one wait for the disk; the other goes on meanwhile.
inline constexpr int kDiskThreads = 2;

// ---- The engine ----
// At most this many podman processes at once: more only wait for its locks.
inline constexpr int kMaxEngineCalls = 2;
inline constexpr std::chrono::seconds kEngineDeadline{60};
inline constexpr std::size_t kMaxEngineOutputBytes = 4_MiB;
// The first start with a new image may copy its layers for the user namespace.
inline constexpr std::chrono::seconds kEngineStartDeadline{300};
inline constexpr std::chrono::seconds kInitHelloDeadline{10};
// Of one try to delete what removed volumes held: a million files take seconds, or a slow disk's
// minutes. What is left then is the next try's.
inline constexpr std::chrono::minutes kEmptyingDeadline{30};
// SIGKILL to giving up on a process that is stuck in the kernel.
inline constexpr std::chrono::seconds kKilledProcessGrace{5};
// What a log line quotes of a program's complaint.
inline constexpr std::size_t kMaxComplaintBytes = 300;
// An engine call that met another one's half-done work is tried again after this time, so often.
inline constexpr std::chrono::milliseconds kEngineRetryPause{100};
inline constexpr int kEngineTries = 4;
// Of podman's own remedy, when no process that its records name is left. Two were seen to do.
inline constexpr int kEngineMends = 8;
// What podman says of everything it has: 4,096 containers and volumes with their labels.
inline constexpr int kMaxEngineJsonDepth = 16;
// Less than this free and an engine call that failed has failed for it.
inline constexpr std::uint64_t kFullDiskBytes = 16ULL << 20;
// Milliseconds that the kernel has to stop every process of a sandbox.
inline constexpr int kFreezeTries = 1000;
// podman's own; one entry has about 600 bytes.
inline constexpr std::size_t kMaxContainerListBytes = 4_MiB;
inline constexpr std::size_t kMaxLayerIdBytes = 128;
// Ids of the project quotas that hold sandboxes to SANDBOX_DISK. Nobody else is likely to have
// numbered projects from there on; podman has locks for 2,048 sandboxes unless told otherwise, and
// removed ones keep theirs until their files are gone.
inline constexpr std::uint32_t kFirstProject = 0x534b'0000;
inline constexpr std::uint32_t kProjects = 4096;
inline constexpr std::size_t kMaxKernelTextBytes = 4_KiB;
inline constexpr std::size_t kMaxProcTextBytes = 16_KiB;
inline constexpr std::size_t kMaxMountsTextBytes = 256_KiB;
// One number, or a few in a line.
inline constexpr std::size_t kMaxNumberTextBytes = 128;
// While the network filter comes up, tries of what it must forbid: sandkeep-netdeny.service needs
// less than these 6 s.
inline constexpr int kFilterTries = 30;
inline constexpr std::chrono::milliseconds kFilterPause{200};
inline constexpr std::size_t kMaxResolvConfBytes = 64_KiB;
// Of the inotify that the host's user may have, one sandbox gets one part in so many, and at least
// so much: a watcher of files takes one instance, and one watch for each folder.
inline constexpr std::int64_t kInotifyParts = 16;
inline constexpr std::int64_t kLeastInotifyInstances = 16;
inline constexpr std::int64_t kLeastInotifyWatches = 4096;
inline constexpr std::chrono::milliseconds kNeighbourLimitsDeadline{5000};

// ---- The file process ----
// One open or stat takes microseconds: then the process or the disk is stuck, and it is replaced.
inline constexpr std::chrono::seconds kFileCallDeadline{10};
inline constexpr std::chrono::seconds kFileProcessStartDeadline{10};
// Volumes that it knows at once, each a descriptor; the least recently used makes room.
inline constexpr std::size_t kMaxFileProcessVolumes = 256;
// Calls under way; more are refused.
inline constexpr std::size_t kMaxFileCalls = 1024;
inline constexpr int kMaxListEntries = 10000;
// Files that are being written at once, each a descriptor.
inline constexpr std::size_t kMaxFileParts = 256;
// Entries that one request removes before others have their turn.
inline constexpr int kMaxDeletedATurn = 500;
// Folders below folders that are entered, to list or to remove.
inline constexpr int kMaxFolderDepth = 128;
// What one search looks at: a checkout with its packages, and no more.
inline constexpr int kMaxWalkedEntries = 50000;
// A file is matched in steps that grow with it, and so many files may be looked at.
inline constexpr std::size_t kMaxPatternBytes = 256;
// Folders of one walk that are open at once, each with 32 KiB of names that were read ahead.
inline constexpr std::size_t kMaxOpenLevels = 64;
// Folders below folders: 40 bytes each. Deeper ones aren't looked at.
inline constexpr std::size_t kMaxMeasuredLevels = 65536;
// Walks at once: what the agent measures at a time, with room.
inline constexpr std::size_t kMaxMeasuredAtOnce = 4;
// One turn of a walk, while others wait.
inline constexpr std::chrono::milliseconds kMeasureTurn{5};
// Between two turns of a walk: it takes half of the file process's time at most.
inline constexpr std::chrono::milliseconds kMeasurePause{5};

// ---- HTTP ----
inline constexpr std::size_t kMaxHeaderBytes = 16_KiB;
// A chunk's size: 16 digits and a line end. A body's: what 63 bits have. Zeros before a number
// would be well-formed, and are read differently by those who count digits.
inline constexpr std::size_t kMaxChunkLineBytes = 18;
inline constexpr std::size_t kMaxLengthDigits = 19;
// A command of 1 MiB and 10 MiB of stdin, both escaped as JSON. Only who has a key may send that
// much.
inline constexpr std::size_t kMaxBodyBytes = 16_MiB;
inline constexpr int kMaxJsonDepth = 32;
inline constexpr std::chrono::seconds kHeaderDeadline{10};
inline constexpr std::chrono::seconds kBodyDeadline{60};
inline constexpr std::chrono::seconds kIdleDeadline{120};
inline constexpr std::chrono::seconds kWriteDeadline{60};
// Proxies cut idle streams at 60 s and more.
inline constexpr std::chrono::seconds kKeepAliveInterval{15};
inline constexpr int kMaxConnections = 10000;
inline constexpr std::size_t kMaxUrlBytes = 8_KiB;
inline constexpr std::size_t kMaxBearerBytes = 512;
// Browsers send about 20.
inline constexpr std::size_t kMaxHeaders = 100;
// One read of a body, and one write of a download: a slow reader must take this much within
// kWriteDeadline.
inline constexpr std::size_t kHttpPieceBytes = 64_KiB;
// A call that isn't done by then goes on as an event stream, if its client takes one. Most commands
// are: theirs stays one plain answer.
inline constexpr std::chrono::milliseconds kStreamAfter{200};
// Events that wait for a slow client; more are dropped.
inline constexpr std::size_t kMaxWaitingEvents = 64;
inline constexpr std::size_t kMaxWaitingEventBytes = 1_MiB;
// Downloads at once: each holds a stream of the agent's and a few of its chunks.
inline constexpr int kMaxDownloads = 256;
// One turn of a file that is sent: long enough that changing threads doesn't count, short enough
// that others have theirs; under a millisecond from memory.
inline constexpr std::int64_t kFileTurnBytes = 1LL << 20;
// Disks make these wait, and nothing else does; clients don't.
inline constexpr int kFileSendThreads = 2;
// A file may change between the agent's look and ours.
inline constexpr int kOpenTries = 3;
// Links whose owner needn't be asked for again: 200 bytes each.
inline constexpr std::size_t kMaxKnownOwners = 2048;
// After an answer that leaves a request unread: long enough for the client to see the answer.
inline constexpr std::chrono::seconds kLingerDeadline{2};
inline constexpr std::size_t kMaxLingerBytes = 1_MiB;
// Without descriptors accept fails at once, again and again.
inline constexpr std::chrono::milliseconds kAcceptPause{100};
// SIGTERM: answers in flight have this long to finish.
inline constexpr std::chrono::seconds kDrainDeadline{10};
// As kAgentThreads.
inline constexpr int kGatewayThreads = 1;
// The running gateway sees a key added or removed within the interval; one unknown key makes it
// look at once, but not more often than the pause.
inline constexpr std::chrono::milliseconds kKeyRefreshInterval{250};
inline constexpr std::chrono::milliseconds kKeyRefreshPause{50};
// How often the files are looked at: a renewal is weeks early, a person at the keyboard isn't.
inline constexpr std::chrono::seconds kCertificateLook{2};
// A chain is some kilobytes.
inline constexpr std::size_t kMaxPemBytes = 1_MiB;
// A client that vanished without a word is asked whether it lives after so long a silence, then
// this often, so many times; and is given up where what was sent to it stays unacknowledged.
inline constexpr std::chrono::seconds kSilentPeerAfter{15};
inline constexpr std::chrono::seconds kSilentPeerInterval{15};
inline constexpr int kSilentPeerProbes = 3;
inline constexpr std::chrono::milliseconds kUnackedDeadline{60'000};

// ---- Keys and sign-in ----
inline constexpr std::size_t kMaxDeviceNameBytes = 64;
// Of a key that the operator made up: shorter ones can be guessed.
inline constexpr std::size_t kLeastOwnerKeyBytes = 16;
// After `keys rotate` both keys are good for this long, unless it is told otherwise.
inline constexpr std::chrono::hours kKeyOverlap{24};
// A form, or what a client registers.
inline constexpr std::size_t kMaxFormBytes = 64_KiB;
inline constexpr std::size_t kMaxFormFields = 32;
// A client_id holds what its client registered, and stands in a URL of kMaxUrlBytes beside the rest
// of an authorization request.
inline constexpr std::size_t kMaxClientIdBytes = 4_KiB;
inline constexpr std::size_t kMaxClientNameBytes = 128;
inline constexpr std::size_t kMaxRedirectUris = 16;
inline constexpr std::size_t kMaxRedirectUriBytes = 1_KiB;
inline constexpr std::size_t kMaxStateBytes = 4_KiB;
// The page may stay open for so long; a code is redeemed by a program, at once.
inline constexpr std::chrono::minutes kSignInLifetime{10};
inline constexpr std::chrono::minutes kCodeLifetime{5};
inline constexpr std::chrono::seconds kAccessTokenLifetime{3600};
// Since its last use.
inline constexpr std::chrono::hours kRefreshTokenLifetime{24 * 90};
// Clients were seen to refresh in parallel, in bursts of up to 76 s.
inline constexpr std::chrono::seconds kRefreshGrace{90};
// More rotations than this within the grace are no client's.
inline constexpr int kMaxSuccessors = 64;
// Beyond these the oldest go: every connect of some clients is a new sign-in.
inline constexpr int kMaxSignInsPerKey = 100;
inline constexpr int kMaxAccessTokensPerSignIn = 32;
// The one that is good, and those whose reuse is still seen. An older one is merely unknown.
// Without this, a client that refreshes in a loop would fill the disk.
inline constexpr int kMaxRefreshTokensPerSignIn = 128;
// Of one address, IPv6 by its /64. A right key is never refused: see gateway/oauth/authorize.h.
inline constexpr double kWrongKeysAtOnce = 5;
inline constexpr double kWrongKeysPerSecond = 5.0 / 60;
// Some clients register at every connect; behind a proxy, all of them come from one address.
inline constexpr double kRegistrationsAtOnce = 60;
inline constexpr double kRegistrationsPerSecond = 10;
// Addresses that are told apart at once; those beyond share one allowance.
inline constexpr std::size_t kMaxTrackedSources = 4096;
// Between two looks for tokens that are over.
inline constexpr std::chrono::minutes kTokenSweepInterval{10};

// ---- MCP ----
inline constexpr std::size_t kMaxCaptionBytes = 1_KiB;
// Every JSON value costs its parsed form 16 bytes and more: without this, 16 MiB of `[[],[],…`
// would become two hundred. No message of the protocol comes near it.
inline constexpr std::size_t kMaxJsonValues = 32768;
// A request id is echoed, and kept while its call runs.
inline constexpr std::size_t kMaxRequestIdBytes = 1_KiB;
// One array of 2025-03-26; its messages are answered one after the other.
inline constexpr std::size_t kMaxBatchMessages = 32;
// Lists give out a cursor and calls a state, which the client brings back; both are ours, and
// short.
inline constexpr std::size_t kMaxCursorBytes = 1_KiB;
inline constexpr std::size_t kMaxRequestStateBytes = 4_KiB;
// For so long a person may think about what a call asked.
inline constexpr std::chrono::minutes kRequestStateLifetime{10};
// A sandbox's name and a path of 4 KiB, each of its bytes percent-encoded.
inline constexpr std::size_t kMaxResourceUriBytes = 14_KiB;
// The protocol's own bound.
inline constexpr std::size_t kMaxCompletionValues = 100;
// Ours have 32 characters; what a client makes up is kept while a call of it runs.
inline constexpr std::size_t kMaxSessionIdBytes = 64;
// Calls that `notifications/cancelled` can still find; a call beyond it runs, but can't be found.
inline constexpr std::size_t kMaxTrackedCalls = 4096;
// Of a job's output, what is streamed as it comes. Above it only the end is fetched, once there is
// one: who prints a gigabyte must not make the gateway read it.
inline constexpr std::int64_t kStreamedOutputBytes = 1LL << 20;
// Between two looks at a job whose output isn't streamed any more.
inline constexpr std::chrono::milliseconds kMinOutputPoll{20};
inline constexpr std::chrono::milliseconds kMaxOutputPoll{250};
// An agent that restarts is asked again for a running job: how often, and for how long. A call that
// finds no agent at all is tried this often, so that its restart isn't seen, then told.
inline constexpr std::chrono::milliseconds kReattachPause{250};
inline constexpr std::chrono::seconds kReattachFor{60};
inline constexpr int kStartAttempts = 3;
// What stands for "the ceiling" where a caller names no timeout; the agent lowers it.
inline constexpr std::chrono::hours kNoTimeout{24 * 365};
// How long a call waits for a command before it hands it back by its id. Many clients give up at
// 60 s, the most patient at 300 s.
inline constexpr std::chrono::seconds kDefaultWait{45};
inline constexpr std::chrono::seconds kMaxWait{280};
// What a sandbox that has to be made first may add to it.
inline constexpr std::chrono::seconds kStartAllowance{10};
// A background command that fails at once is seen to fail.
inline constexpr std::chrono::milliseconds kBackgroundWait{1000};
// After a signal: to the end of what was told to end, and for what another signal brings about.
inline constexpr std::chrono::milliseconds kStopWait{3000};
inline constexpr std::chrono::milliseconds kSignalWait{500};
// Progress: at most so often, and so often at least, since clients take it as a sign of life.
inline constexpr std::chrono::milliseconds kProgressInterval{250};
inline constexpr std::chrono::seconds kProgressHeartbeat{10};
inline constexpr std::size_t kMaxProgressBytes = 200;
// Where a job's results stopped is remembered for as many jobs, and of one principal for so many:
// as many as it may wait for at once, or those would read from the start again.
inline constexpr std::size_t kMaxRememberedJobs = 8192;
inline constexpr std::size_t kMaxRememberedJobsEach = 1024;
// What sandbox_info shows of a sandbox's jobs.
inline constexpr int kMaxShownJobs = 20;
// A line that can still be overwritten by a carriage return, or a sequence for terminals that isn't
// over yet; a longer line is taken as it stands, a longer sequence as over.
inline constexpr std::size_t kMaxOpenLineBytes = 4_KiB;
inline constexpr std::size_t kMaxEscapeBytes = 4_KiB;
// The end of a failed command's output is searched for failures whose remedy is known.
inline constexpr std::size_t kSearchedOutputBytes = 4_KiB;
// How long the agent's limits and network, which the tool descriptions name, count as known; and
// until the next try while it doesn't answer.
inline constexpr std::chrono::seconds kHostFactsAge{60};
inline constexpr std::chrono::seconds kHostFactsRetry{2};
// An attached image above this a side makes some clients' conversations unusable for good.
inline constexpr int kMaxRenderPixels = 8000;
// What sandbox_info shows of the request and of the sandboxes.
inline constexpr std::size_t kMaxShownHeaders = 64;
inline constexpr std::size_t kMaxShownHeaderBytes = 200;
inline constexpr int kMaxShownSandboxes = 50;
// A missing label is answered with this many of the principal's own.
inline constexpr int kMaxSuggestedLabels = 5;
// A missing file is answered with the nearest names among this many.
inline constexpr int kMaxSearchedFiles = 1000;
inline constexpr std::size_t kMaxSuggestedFiles = 5;
inline constexpr std::size_t kMaxKeyNameBytes = 64;
// edit_file holds the file before and after in memory; read_file looks for its lines in so much.
inline constexpr std::int64_t kMaxEditedBytes = 8LL << 20;
inline constexpr std::int64_t kMaxScannedBytes = 64LL << 20;
inline constexpr std::int64_t kDefaultReadLines = 2000;
// What list_files shows.
inline constexpr int kShownFiles = 200;
// A link's signature: 128 bits of the HMAC, short enough for a model to copy.
inline constexpr std::size_t kLinkSignatureBytes = 16;
// A download that began before its link's end may be resumed for so long after it.
inline constexpr std::chrono::hours kResumeGrace{24};
// After `links rotate` links signed before it work on for this long, unless it is told otherwise:
// none lives longer by default.
inline constexpr std::chrono::hours kLinkKeyOverlap{24};
// A folder as an archive.
inline constexpr int kMaxArchiveEntries = 50000;
inline constexpr int kMaxArchives = 16;
// Packing takes a processor: more of these would leave none to who waits for an answer.
inline constexpr int kArchiveThreads = 1;
// On a folder's page, links and names together: a thousand of ordinary length take a third of it,
// and a thousand of the longest would take ten times as much for each of those who look.
inline constexpr std::size_t kMaxFolderPageBytes = 1_MiB;
// Programs that save a file add an ending of their own while it comes (Chromium eleven bytes), and
// wget keeps nineteen back: what doesn't fit then is cut off with the ending, or not saved at all.
inline constexpr std::size_t kMaxSavedNameBytes = 230;
inline constexpr std::size_t kMaxSavedEndingBytes = 16;
inline constexpr std::size_t kMaxTaskIdBytes = 256;
// A job is looked at from the agent's memory: that may happen often, and a person waits.
inline constexpr std::chrono::milliseconds kTaskPollInterval{2000};
// A client that knows tasks needn't hold a stream open for longer: its connection may break and the
// command goes on. What ends sooner costs it no second request.
inline constexpr std::chrono::milliseconds kTaskAfter{2000};
// Of what the agent has to say beside a result, one line.
inline constexpr std::size_t kMaxNoteBytes = 4000;

// ---- Pictures ----
// Of a picture's file: no camera's JPEG is larger, and it stands in memory beside its pixels.
inline constexpr std::int64_t kMaxImageFileBytes = 32LL << 20;
// Of sandkeep-imager, all that it maps: 40 million pixels of four bytes, the file, the libraries.
inline constexpr std::uint64_t kImagerMemoryBytes = 256ULL << 20;
inline constexpr std::uint64_t kImagerCpuSeconds = 2;
// Longer than its processor time, since the machine has other work too.
inline constexpr std::chrono::milliseconds kImagerDeadline{6000};
// At once: each may take a processor and its memory.
inline constexpr int kMaxImagers = 2;
// Of one principal, each an open file: more than its sandboxes present at once.
inline constexpr std::size_t kMaxWaitingPictures = 64;
// What may be asked for. What is to be shown passes through an answer of the agent's, with room for
// its header in what a process of ours may print.
inline constexpr int kMinImagePixels = 16;
inline constexpr std::int64_t kMinImageBytes = 1LL << 10;
inline constexpr std::int64_t kMaxImageBytes = (4LL << 20) - 64;
// Of a picture that is held whole at its own size: 160 MB of the 256 MB that the process has.
inline constexpr std::int64_t kMaxWholePixels = 40'000'000;
// Where a decoder scales while it reads.
inline constexpr std::int64_t kMaxScaledPixels = 150'000'000;
// Of all frames of an animation together, for as long as they are checked: less than a second's.
inline constexpr std::int64_t kMaxFramePixels = 40'000'000;
// Above either, some clients drop a result, or can't go on with their conversation for good.
inline constexpr std::uint32_t kShownPixels = 1568;
inline constexpr std::int64_t kShownImageBytes = 700'000;
// Nothing can be seen on less.
inline constexpr std::int64_t kLeastImageBytes = 1024;

// ---- Uploads ----
// Common fronts take no request over 100 MB, some none over 32 MiB.
inline constexpr std::int64_t kMaxUploadPieceBytes = 32LL << 20;
inline constexpr std::int64_t kMaxUploadBytes = 64LL << 30;
inline constexpr std::int64_t kDefaultUploadBytes = 1LL << 30;
// Since the last piece: the person may have to find the file first.
inline constexpr std::chrono::seconds kUploadLifetime{3600};
inline constexpr int kMaxUploadFiles = 2000;
inline constexpr std::size_t kMaxUploadsEach = 32;
inline constexpr int kMaxUploadStreams = 64;
// Of one principal: a page sends one file at a time.
inline constexpr int kMaxUploadStreamsEach = 16;
// However often it is extended.
inline constexpr std::chrono::hours kMaxUploadAge{24};
// Of one upload, the names of all its files: 128 bytes each.
inline constexpr std::size_t kMaxUploadNameBytes = 256_KiB;
// Uploads of one principal that are over and can still be asked for; beyond it the oldest go.
inline constexpr std::size_t kMaxUploadsRemembered = 64;
// Between two looks for uploads that are over, whose room is given back.
inline constexpr std::chrono::seconds kUploadSweepInterval{60};
// 300 bytes each, and more than can be on their way when a front end dies.
inline constexpr std::size_t kMaxPlacedParts = 4096;

// ---- Sandboxes ----
// The binding beside a volume: six short lines.
inline constexpr std::size_t kMaxBindingBytes = 512;
// The agent's secret and its instance's id.
inline constexpr std::size_t kMaxMadeOnceBytes = 64;
// The run root's path, and a newline. The kernel takes no socket's path of half of it.
inline constexpr std::size_t kMaxRunRootBytes = 256;
// The time of last use is written at most this often for each sandbox: results speak of it from 30
// minutes on.
inline constexpr std::chrono::seconds kTouchInterval{10};
// How long an answer about the engine is believed: a probe of podman costs 300 ms.
inline constexpr std::chrono::seconds kProbeTtl{60};
// Between two tries to take stock while the engine doesn't answer: who repairs it shouldn't wait.
inline constexpr std::chrono::seconds kRecoveryRetry{2};
// For an engine that doesn't answer at the start. Then calls are told that stock is taken, which is
// more than nobody's answering; and systemd waits only so long for a start.
inline constexpr std::chrono::seconds kStockPatience{20};
// Jobs that one sandbox remembers: beyond it the oldest that are over go before JOB_KEEP. 2 kB
// each, so that a day of short commands can't fill the agent's memory; that many more may gather
// before a sweep, since each costs a write to the disk.
inline constexpr std::size_t kMaxKnownJobs = 1000;
inline constexpr std::size_t kKnownJobsSlack = 250;
// Between two looks for jobs that are past JOB_KEEP.
inline constexpr std::chrono::minutes kJobSweepInterval{10};
// Between two looks whether JOBS_DISK is exceeded: a second of all that the disk can take.
inline constexpr std::chrono::seconds kOutputSweepInterval{1};
// Cut-off commands that the next result names.
inline constexpr std::size_t kMaxCutOffNotes = 3;
// How long a call waits for a place before it is told that there is none, and how often it looks: a
// sandbox whose command has just ended is busy for another moment. Who is told must be told within
// a tenth of a second.
inline constexpr std::chrono::milliseconds kRoomPatience{60};
inline constexpr std::chrono::milliseconds kRoomPoll{10};
// The same while there is one that would give up its place and can't in this moment, or whose
// commands aren't known yet: an agent that has just started is taking it over. "All busy" would be
// wrong.
inline constexpr std::chrono::milliseconds kUnsettledPatience{2000};
// Who waits that long looks more rarely: there may be many of them.
inline constexpr std::chrono::milliseconds kUnsettledPoll{50};
// Between two looks for sandboxes that are idle, frozen or stopped for long enough.
inline constexpr std::chrono::seconds kLifeInterval{1};
// Between two looks at the machine's memory and disk: what fills either takes longer.
inline constexpr std::chrono::seconds kHostInterval{5};
// A command that was handed back keeps its sandbox's place for so long after its last watcher.
inline constexpr std::chrono::seconds kHandedBackHold{900};
// A share of time, in percent, in which everybody waits for memory: there is too little of it,
// whatever is said to be free.
inline constexpr int kMemoryPressurePercent = 20;
// podman has 2,048 locks, and every volume and every container takes one.
inline constexpr int kMaxSandboxes = 1000;
inline constexpr int kMaxSandboxesEach = 500;
// Of one principal, over all its sandboxes; each costs the agent pipes and init processes.
inline constexpr int kMaxRunningJobsEach = 512;
// Calls of one principal that follow commands at once.
inline constexpr int kMaxWaitsEach = 1024;
// From this share of a cap or of the disk on, results say so.
inline constexpr int kWarnPercent = 80;
// Who is at a cap is told this many of its sandboxes, those that were longest unused.
inline constexpr int kNamedAtCap = 5;
// Between two tries to fill the pool of started sandboxes after one failed.
inline constexpr std::chrono::seconds kWarmRetry{30};
// A call that meets a sandbox in the moment in which it is forgotten looks again.
inline constexpr int kMaxResolveTries = 3;
// A container that can't be told of, or taken over, is looked at again after so long, each time
// after twice as long, up to 17 minutes: the engine is busy, or away.
inline constexpr std::chrono::seconds kSettleRetry{1};
inline constexpr int kMaxRetryDoublings = 10;
// One that goes on running though the engine was told so often to stop it is removed.
inline constexpr int kSettleTries = 4;
// After so many calls for which a stopped one didn't start, another takes its place. Each has tried
// several times.
inline constexpr int kWakeTries = 3;
// Each begins with a start of the container, if that has gone.
inline constexpr int kStartTries = 8;
// What a rebuilt sandbox is told to install again, for a model to read and repeat: a longer command
// is cut between packages.
inline constexpr std::size_t kMaxReinstallBytes = 3500;
// Names in one folder that are looked at for it, and looks at all of them together: a sandbox may
// make as many as its disk takes, and everybody waits for the file process.
inline constexpr int kMaxPackageEntries = 4000;
inline constexpr int kMaxPackageLooks = 12000;
// npm's names; the others' are shorter.
inline constexpr std::size_t kMaxPackageNameBytes = 214;
// apt's record of what came along by itself: some 60 bytes a package.
inline constexpr std::size_t kMaxAptStatesBytes = 1_MiB;
// Before a sandbox rests its records are waited for: they take milliseconds, unless the disk is
// full, and then nothing is better for waiting.
inline constexpr std::chrono::milliseconds kRecordPause{2};
inline constexpr int kRecordLooks = 50;
// What a name costs at least, however little is in it: a file system has only so many.
inline constexpr std::int64_t kBytesPerName = 4096;
// Between two looks, less than this is no growth: a shell's history, a log line.
inline constexpr std::int64_t kLeastGrowth = 1 << 20;
// What may be written in a sandbox beyond its limit, by the commands that make room.
inline constexpr std::int64_t kCleaningRoom = 64 << 20;
// How long who was told of something nearly used up isn't told again.
inline constexpr std::chrono::hours kToldAgainAfter{1};
// How long one tree is looked at: a bigger one is known to be at least so big.
inline constexpr std::chrono::seconds kDiskPatience{60};
// Turns in one disk_interval; one that nears its limit is looked at in each.
inline constexpr int kDiskTurns = 5;
// Of all time, looks at one sandbox take at most one part in so many; where it is urgent, in these.
inline constexpr int kUsualDiskShare = 20;
inline constexpr int kUrgentDiskShare = 4;
// How long one workspace is looked at, to see when something in it changed: a million files take
// some ten seconds.
inline constexpr std::chrono::minutes kGarbagePatience{5};
// The same of one entry of a workspace.
inline constexpr std::chrono::minutes kCleanUpPatience{5};
// Garbage collection looks at every file of every sandbox that is long unused.
inline constexpr std::chrono::hours kGarbageDeadline{6};
// However full the disk was at the first start: SANDBOX_MIN_FREE guards it.
inline constexpr std::int64_t kLeastPrincipalDisk = std::int64_t{4} << 30;

// ---- The agent's reserve on its disk (agent/reserve.h) ----
// Output and records of an hour in which many commands run and none prints much.
inline constexpr std::int64_t kReserveBytes = std::int64_t{256} << 20;
// Of a small disk, at most one part in so many.
inline constexpr std::int64_t kReserveShare = 16;
// Set free one by one, so that who fills the disk gets little of it before somebody else writes.
inline constexpr std::int64_t kReserveSlices = 8;
// Slices that stay free when it is held again, or it would be set free at once.
inline constexpr std::int64_t kReserveMargin = 4;
// What prints onto a full disk tries again as often.
inline constexpr std::chrono::milliseconds kReserveInterval{1000};
// Of the log of records, what is taken from the disk before it is needed: some thousand commands.
// As many pages as one block of the log's index counts, since a second one needs room, too.
inline constexpr std::int64_t kLogReserveBytes = std::int64_t{15} << 20;
// Rows of jobs that the log takes before it is moved into the file: a megabyte or two.
inline constexpr int kPutsPerCheckpoint = 500;

}  // namespace sandkeep
