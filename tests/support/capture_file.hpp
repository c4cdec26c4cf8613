// SPDX-License-Identifier: BSD-3-Clause
//! \file
//! Files of captured frames.
#pragma once

#include "frames.hpp"

#include <memory>
#include <pcap/pcap.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace mrz::test {

inline void write_capture(const std::string& path, const std::vector<Frame>& frames)
{
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> pcap{pcap_open_dead(DLT_EN10MB, 65535), pcap_close};
    const std::unique_ptr<pcap_dumper_t, void (*)(pcap_dumper_t*)> file{pcap_dump_open(pcap.get(), path.c_str()),
                                                                        pcap_dump_close};
    if (!file)
        throw std::runtime_error{pcap_geterr(pcap.get())};
    for (const Frame& frame : frames) {
        const auto length = static_cast<bpf_u_int32>(frame.size());
        const pcap_pkthdr header{.ts = {}, .caplen = length, .len = length};
        pcap_dump(reinterpret_cast<u_char*>(file.get()), &header, frame.data());
    }
}

inline std::vector<Frame> read_capture(const std::string& path)
{
    char error[PCAP_ERRBUF_SIZE];
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> pcap{pcap_open_offline(path.c_str(), error), pcap_close};
    if (!pcap)
        throw std::runtime_error{error};
    std::vector<Frame> frames;
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    while (pcap_next_ex(pcap.get(), &header, &bytes) == 1) {
        if (header->caplen != header->len)
            throw std::runtime_error{path + " holds a frame that was cut off"};
        frames.emplace_back(bytes, bytes + header->caplen);
    }
    return frames;
}

} // namespace mrz::test
