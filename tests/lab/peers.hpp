// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Other people's programs over the guest's RDMA device.
#pragma once

#include "support/run_program.hpp"

#include <string>
#include <unistd.h>
#include <vector>

namespace mrz::test {

inline bool installed(const std::string& program)
{
    return ::access(program.c_str(), X_OK) == 0;
}

inline ProgramResult run(const std::vector<std::string>& arguments)
{
    return RunningProgram{arguments}.wait();
}

inline ProgramResult run_in_shell(const std::string& script)
{
    return run({"/bin/sh", "-c", script});
}

//! A server that does not listen yet is tried again, one that waits for ever for a client that has failed is ended.
//! What the server said is in the output if something failed.
inline ProgramResult server_and_client(const std::string& server, const std::string& client)
{
    return run_in_shell("said=$(mktemp)\n" //
                        "give_up() {\n"
                        "    kill $server\n"
                        "    echo \"the server $1:\"\n"
                        "    cat \"$said\"\n"
                        "    exit 1\n"
                        "}\n" +
                        server +
                        " >\"$said\" 2>&1 & server=$!\n"
                        "tries=0\n"
                        "until timeout 60 " +
                        client +
                        "; do\n"
                        "    [ $? -ne 124 ] || give_up 'and a client that hangs'\n"
                        "    tries=$((tries + 1))\n"
                        "    kill -0 $server && [ $tries -lt 200 ] || give_up 'and a client that fails'\n"
                        "done\n"
                        "wait $server || give_up 'failed'");
}

} // namespace mrz::test
