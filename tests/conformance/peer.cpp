// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include <cerrno>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mrz::test {
namespace {

using namespace std::chrono_literals;

//! The peer's state, and a function for each command.
class Commands {
  public:
    explicit Commands(const std::string& device) : domain_{Domain::open(device)} {}

    //! Throws what the command throws.
    std::string run(std::istringstream& words)
    {
        std::string name;
        words >> name;
        static const std::map<std::string, std::string (Commands::*)(std::istringstream&)> commands = {
            {"listen", &Commands::listen},
            {"accept", &Commands::accept},
            {"refuse", &Commands::refuse},
            {"drop", &Commands::drop},
            {"connect", &Commands::connect},
            {"expose", &Commands::expose},
            {"sum", &Commands::sum},
            {"receive", &Commands::receive},
            {"poll", &Commands::poll},
            {"post", &Commands::post},
            {"disconnect", &Commands::disconnect},
            {"wait_lost", &Commands::wait_lost},
            {"reissue", &Commands::reissue},
            {"forget", &Commands::forget},
            {"traffic", &Commands::traffic},
        };
        return (this->*commands.at(name))(words);
    }

  private:
    static constexpr std::size_t receive_length = 64 << 10;

    template <class Type>
    static Type next(std::istringstream& words)
    {
        Type value{};
        words >> value;
        return value;
    }
    ConnectOptions options(std::istringstream& words, std::string& said)
    {
        words >> said;
        ConnectOptions options;
        options.queue_pair = {.send_requests = 64, .receive_requests = 64, .segments = 4, .inline_bytes = 64};
        options.private_data = std::as_bytes(std::span{said});
        options.timeout = 60s; // an emulator's, on a busy machine
        return options;
    }
    std::string joined(std::unique_ptr<Connection> connection)
    {
        connection_ = std::move(connection);
        const auto data = connection_->private_data();
        const std::string text{reinterpret_cast<const char*>(data.data()), data.size()};
        return text.substr(0, text.find('\0'));
    }
    std::unique_ptr<ConnectionRequest> request()
    {
        auto request = listener_->wait(60s);
        if (!request)
            throw std::runtime_error{"nobody connected"};
        return request;
    }
    QueuePair& queue_pair() { return connection_->queue_pair(); }

    std::string listen(std::istringstream& words)
    {
        listener_ = domain_.listen(next<std::string>(words));
        return listener_->address();
    }
    //! SAID RECEIVES: receives are posted before the peer can send.
    std::string accept(std::istringstream& words)
    {
        std::string said;
        const ConnectOptions chosen = options(words, said);
        const int receives = next<int>(words);
        return joined(
            request()->accept(chosen, [this, receives](QueuePair& made) { post_receives(made, receives); }));
    }
    std::string refuse(std::istringstream& words)
    {
        std::string why;
        std::getline(words >> std::ws, why);
        request()->refuse(why);
        return {};
    }
    std::string drop(std::istringstream& /*words*/)
    {
        request();
        return {};
    }
    //! ADDRESS SAID
    std::string connect(std::istringstream& words)
    {
        const auto address = next<std::string>(words);
        std::string said;
        const ConnectOptions chosen = options(words, said);
        return joined(domain_.connect(address, chosen));
    }
    //! RIGHTS LENGTH SEED
    std::string expose(std::istringstream& words)
    {
        const auto access = static_cast<Access>(next<unsigned>(words));
        const auto length = next<std::size_t>(words);
        region_.reset();
        memory_ = std::make_unique<Buffer>(length, next<unsigned>(words));
        region_.emplace(domain_.register_memory(memory_->bytes(), access));
        return std::to_string(region_->iova().value()) + " " + std::to_string(region_->rkey().value);
    }
    std::string reissue(std::istringstream& /*words*/) { return std::to_string(region_->reissue().rkey.value); }
    std::string forget(std::istringstream& /*words*/)
    {
        region_.reset();
        return {};
    }
    //! OFFSET LENGTH
    std::string sum(std::istringstream& words)
    {
        const auto offset = next<std::size_t>(words);
        return std::to_string(sum_of(memory_->bytes().subspan(offset, next<std::size_t>(words))));
    }

    //! Each into a part of memory of its own.
    void post_receives(QueuePair& to, int count)
    {
        if (!received_) {
            received_ = std::make_unique<Buffer>(64 * receive_length);
            received_region_.emplace(domain_.register_memory(received_->bytes(), Access::local_write));
        }
        for (; count > 0; --count) {
            const std::size_t place = next_receive_++ % 64;
            const Segment segment = test::segment(*received_region_, place * receive_length, receive_length);
            to.post_receive({.id = place, .segments = {&segment, 1}});
        }
    }
    std::string receive(std::istringstream& words)
    {
        post_receives(queue_pair(), next<int>(words));
        return {};
    }
    //! One completion: STATUS OPCODE LENGTH IMMEDIATE SUM, the last of what a receive took.
    std::string poll(std::istringstream& /*words*/)
    {
        const Completion done = Pair::wait(queue_pair());
        std::ostringstream text;
        std::uint64_t of_received = 0;
        if (done.opcode == WcOpcode::receive && done.status == WcStatus::success)
            of_received = sum_of(received_->bytes().subspan(done.id * receive_length, done.byte_length));
        text << static_cast<int>(done.status) << ' ' << static_cast<int>(done.opcode) << ' ' << done.byte_length
             << ' ' << done.immediate.value_or(0) << ' ' << of_received;
        return text.str();
    }
    //! OPCODE LENGTH IOVA RKEY, from the beginning of its own memory.
    std::string post(std::istringstream& words)
    {
        const auto opcode = static_cast<Opcode>(next<int>(words));
        const auto length = next<std::size_t>(words);
        const Segment segment = test::segment(*region_, 0, length);
        const auto iova = next<std::uint64_t>(words);
        queue_pair().post_send({.id = 1,
                                .opcode = opcode,
                                .segments = {&segment, 1},
                                .immediate = 5,
                                .remote_iova = Iova{iova},
                                .rkey = RKey{next<std::uint32_t>(words)}});
        return {};
    }
    std::string disconnect(std::istringstream& /*words*/)
    {
        connection_->disconnect();
        return {};
    }
    std::string wait_lost(std::istringstream& /*words*/)
    {
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        while (connection_->connected()) {
            if (std::chrono::steady_clock::now() > deadline)
                throw std::runtime_error{"still connected"};
            std::this_thread::yield();
        }
        return {};
    }
    //! IOVA RKEY LENGTH: writes and reads there for as long as it can, answering first.
    std::string traffic(std::istringstream& words)
    {
        const Iova at{next<std::uint64_t>(words)};
        const RKey rkey{next<std::uint32_t>(words)};
        const auto length = next<std::size_t>(words);
        std::cout << "ok" << std::endl;
        const Segment segment = test::segment(*region_, 0, length);
        std::size_t under_way = 0;
        std::uint64_t posted = 0;
        for (;;) {
            for (; under_way < 16; ++under_way, ++posted)
                queue_pair().post_send({.id = posted,
                                        .opcode = posted % 2 == 0 ? Opcode::rdma_write : Opcode::rdma_read,
                                        .segments = {&segment, 1},
                                        .remote_iova = at,
                                        .rkey = rkey});
            Completion done;
            if (queue_pair().poll({&done, 1}) == 0)
                continue;
            --under_way;
            if (done.status != WcStatus::success)
                return std::string{to_string(done.status)};
        }
    }

    Domain domain_;
    std::unique_ptr<Listener> listener_;
    std::unique_ptr<Buffer> memory_;
    std::optional<Region> region_;
    std::unique_ptr<Buffer> received_;
    std::optional<Region> received_region_;
    std::uint64_t next_receive_ = 0;
    std::unique_ptr<Connection> connection_;
};

} // namespace

// What a peer wrote is ordered by a pipe between processes, which ThreadSanitizer does not see.
__attribute__((no_sanitize_thread)) std::uint64_t sum_of(std::span<const std::byte> bytes)
{
    std::uint64_t sum = 14695981039346656037ULL; // FNV-1a
    const std::byte* const data = bytes.data();  // not through the span, whose functions are not exempt
    for (std::size_t i = 0; i < bytes.size(); ++i)
        sum = (sum ^ static_cast<std::uint64_t>(data[i])) * 1099511628211ULL;
    return sum;
}

int run_peer(const std::string& device)
{
    std::optional<Commands> commands;
    for (std::string line; std::getline(std::cin, line);) {
        try {
            if (!commands)
                commands.emplace(device);
            std::istringstream words{line};
            const std::string said = commands->run(words); // before anything is written, since it may throw
            std::cout << "ok " << said << std::endl;
        } catch (const Error& error) {
            std::cout << "error " << error.error_number() << ' ' << error.what() << std::endl;
        } catch (const std::exception& error) {
            std::cout << "error 0 " << error.what() << std::endl;
        }
    }
    return 0;
}

Peer::Peer(const std::string& device)
{
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
        throw std::runtime_error{"no pipes for the peer"};
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(in[0], 0);
        ::dup2(out[1], 1);
        ::execl("/proc/self/exe", "peer", "--peer", device.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    if (pid_ < 0)
        throw std::runtime_error{"no process for the peer"};
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
}

Peer::~Peer()
{
    std::fclose(to_);
    std::fclose(from_);
    if (pid_ < 0)
        return;
    // Its input has ended, and so does it; a hang would be a failure of the suite's timeout.
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the peer ended with " << status;
}

void Peer::tell(const std::string& command)
{
    std::fputs((command + "\n").c_str(), to_);
    std::fflush(to_);
}

std::string Peer::any_answer()
{
    std::string line;
    for (int c = std::fgetc(from_); c != EOF && c != '\n'; c = std::fgetc(from_))
        line.push_back(static_cast<char>(c));
    return line;
}

std::string Peer::answer()
{
    const std::string line = any_answer();
    EXPECT_TRUE(line.starts_with("ok")) << "the peer says: " << line;
    return line.size() > 3 ? line.substr(3) : std::string{};
}

void Peer::kill()
{
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

} // namespace mrz::test
