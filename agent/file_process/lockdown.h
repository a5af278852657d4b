// How sandkeep-files gives up everything that it doesn't need: it becomes root of a user namespace
// of its own, keeps the rights over files that root has there, of the ids mapped there, and then
// can make no system call but those of its work. One thread, before the first request.
#pragma once

namespace sandkeep {

// A user namespace without any id mapped yet: the agent maps the subordinate ids. Returns an errno,
// 0 if all is well; so do the others.
int EnterUserNamespace();

// After the maps are written: ids 0, no group, only the rights over files, no new privileges,
// undumpable.
int DropPrivileges();

// From here on any other system call ends the process.
int LimitSystemCalls();

}  // namespace sandkeep
