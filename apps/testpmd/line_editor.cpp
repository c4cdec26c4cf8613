// SPDX-License-Identifier: BSD-3-Clause
#include "line_editor.hpp"

#include <mrzone/base.hpp>

#include <cmdline_rdline.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include <unistd.h>

namespace mrz::testpmd {
namespace {

[[noreturn]] void refuse(int error_number)
{
    throw Error{error_number, Cause{.trouble = Trouble::internal,
                                    .what = "reading keys from the terminal",
                                    .limit = std::strerror(error_number),
                                    .remedy = "give the commands by --cmdline-file, or by a pipe"}};
}

int show_character(rdline*, char c)
{
    return std::putchar(static_cast<unsigned char>(c));
}

// The line is carried out by whoever typed its last key, outside the library's C.
void keep_line(rdline*, const char*, unsigned int) {}

int complete_line(rdline* line, const char* typed, char* out, unsigned int size, int* state)
{
    return static_cast<CommandParser*>(rdline_get_opaque(line))->complete(typed, state, out, size);
}

} // namespace

RawTerminal::RawTerminal()
{
    if (::tcgetattr(STDIN_FILENO, &before_) != 0)
        refuse(errno);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VQUIT] = _POSIX_VDISABLE;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    if (::tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
        refuse(errno);
}

RawTerminal::~RawTerminal()
{
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void LineEditor::Free::operator()(rdline* line) const noexcept
{
    rdline_free(line);
}

LineEditor::LineEditor(std::string prompt, CommandParser& parser)
    : prompt_{std::move(prompt)}, parser_{parser}, line_{
                                                       rdline_new(show_character, keep_line, complete_line, &parser_)}
{
    if (!line_)
        throw std::bad_alloc{};
    rdline_newline(line_.get(), prompt_.c_str());
    std::fflush(stdout);
}

LineEditor::~LineEditor() = default;

LineEditor::Key LineEditor::type(char key)
{
    const int result = rdline_char_in(line_.get(), key);
    std::fflush(stdout);
    if (result == RDLINE_RES_VALIDATED)
        return Key::line;
    return result == RDLINE_RES_EOF ? Key::end_of_input : Key::edited;
}

std::string LineEditor::text() const
{
    std::string text = rdline_get_buffer(line_.get());
    if (text.ends_with('\n'))
        text.pop_back();
    return text;
}

void LineEditor::next_line()
{
    const std::string line = text();
    if (!line.empty() && line != last_)
        rdline_add_history(line_.get(), line.c_str());
    last_ = line;
    rdline_newline(line_.get(), prompt_.c_str());
    std::fflush(stdout);
}

} // namespace mrz::testpmd
