// SPDX-License-Identifier: BSD-3-Clause
#include "commands_parser.hpp"

#include "engine.hpp"

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_num.h>
#include <cmdline_parse_string.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <new>
#include <variant>

namespace mrz::testpmd {
namespace {

// What a pattern's word is parsed to: its place in the buffer that the library hands to a command.
constexpr std::size_t place_size = STR_TOKEN_SIZE;

// As the library's words of a choice, but any word will do: the session says better than "bad arguments" what is
// wrong with an unknown one.
int parse_any(cmdline_parse_token_hdr_t*, const char* line, void* result, unsigned int size)
{
    cmdline_parse_token_string_t any{};
    any.string_data.str = nullptr;
    return cmdline_parse_string(&any.hdr, line, result, size);
}
cmdline_token_ops proposing_ops = {.parse = parse_any,
                                   .complete_get_nb = cmdline_complete_get_nb_string,
                                   .complete_get_elt = cmdline_complete_get_elt_string,
                                   .get_help = cmdline_get_help_string};

std::vector<std::string> split(std::string_view text)
{
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        words.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

void add_choice(std::string& choices, std::string_view choice)
{
    choices += (choices.empty() ? "" : "#") + std::string{choice};
}

std::string engine_choices()
{
    std::string choices;
    for (const Engine* engine : engines())
        add_choice(choices, engine->name);
    return choices;
}

std::string first_words(std::span<const CommandPattern> patterns)
{
    std::vector<std::string> seen;
    std::string choices;
    for (const CommandPattern& pattern : patterns) {
        const std::string word = split(pattern.words).front();
        if (std::ranges::find(seen, word) != seen.end())
            continue;
        seen.push_back(word);
        add_choice(choices, word);
    }
    return choices;
}

struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
struct FreeCommandLine {
    void operator()(cmdline* line) const noexcept { cmdline_free(line); }
};

struct StringToken {
    std::string choices;
    cmdline_parse_token_string_t token{};
};
using Token = std::variant<StringToken, cmdline_parse_token_num_t>;

cmdline_parse_token_hdr_t* header_of(Token& token)
{
    if (auto* const string = std::get_if<StringToken>(&token))
        return &string->token.hdr;
    return &std::get<cmdline_parse_token_num_t>(token).hdr;
}

} // namespace

struct CommandParser::Table {
    //! A command as the library wants it: a structure with the pointers to its words behind it.
    struct Row {
        Table* table = nullptr;
        std::size_t index = 0;
        std::deque<Token> tokens;
        std::unique_ptr<cmdline_parse_inst_t, Free> instruction;
    };
    std::deque<Row> rows;
    std::vector<cmdline_parse_inst_t*> context; // null-terminated
    std::unique_ptr<cmdline, FreeCommandLine> line;

    const Row* matched = nullptr;
    std::array<char, CMDLINE_PARSE_RESULT_BUFSIZE> result{};

    void add_row(std::span<const CommandPattern> patterns, std::size_t index);
    [[nodiscard]] Words words_of(const Row& row) const;
};

namespace {

Token make_token(std::string_view word, unsigned int offset, std::span<const CommandPattern> patterns)
{
    if (word == "<port>" || word == "<packets>" || word == "<count>") {
        cmdline_parse_token_num_t token{};
        token.hdr = {.ops = &cmdline_token_num_ops, .offset = offset};
        token.num_data.type = word == "<count>" ? RTE_UINT32 : RTE_UINT16;
        return token;
    }
    StringToken token;
    token.token.hdr = {.ops = &cmdline_token_string_ops, .offset = offset};
    if (word == "<lengths>")
        return token; // no choices: all that is left
    if (word == "<mode>" || word == "<command>") {
        token.token.hdr.ops = &proposing_ops;
        token.choices = word == "<mode>" ? engine_choices() : first_words(patterns);
        return token;
    }
    token.choices = word;
    std::ranges::replace(token.choices, '|', '#');
    return token;
}

} // namespace

void CommandParser::Table::add_row(std::span<const CommandPattern> patterns, std::size_t index)
{
    Row& row = rows.emplace_back();
    row.table = this;
    row.index = index;
    const std::vector<std::string> split_words = split(patterns[index].words);
    for (std::size_t i = 0; i < split_words.size(); ++i) {
        Token& token =
            row.tokens.emplace_back(make_token(split_words[i], static_cast<unsigned int>(i * place_size), patterns));
        if (auto* const string = std::get_if<StringToken>(&token))
            string->token.string_data.str = string->choices.c_str(); // where it stays
    }
    const std::size_t pointers = (row.tokens.size() + 1) * sizeof(cmdline_parse_token_hdr_t*);
    row.instruction.reset(
        static_cast<cmdline_parse_inst_t*>(std::calloc(1, sizeof(cmdline_parse_inst_t) + pointers)));
    if (row.instruction == nullptr)
        throw std::bad_alloc{};
    // The library calls it from C, where an exception must not pass: it only notes which command it was.
    row.instruction->f = [](void* parsed, cmdline*, void* data) {
        const Row& found = *static_cast<const Row*>(data);
        found.table->matched = &found;
        std::memcpy(found.table->result.data(), parsed, found.table->result.size());
    };
    row.instruction->data = &row;
    row.instruction->help_str = patterns[index].help.c_str();
    for (std::size_t i = 0; i < row.tokens.size(); ++i)
        row.instruction->tokens[i] = header_of(row.tokens[i]);
}

Words CommandParser::Table::words_of(const Row& row) const
{
    Words words;
    for (std::size_t i = 0; i < row.tokens.size(); ++i) {
        const char* const place = result.data() + i * place_size;
        Word& word = words.emplace_back();
        const auto* const number = std::get_if<cmdline_parse_token_num_t>(&row.tokens[i]);
        if (number == nullptr) {
            word.text = place;
            continue;
        }
        std::memcpy(&word.number, place, number->num_data.type == RTE_UINT16 ? 2 : 4); // little-endian, as all here
        word.text = std::to_string(word.number);
    }
    return words;
}

CommandParser::CommandParser(std::span<const CommandPattern> patterns) : table_{std::make_unique<Table>()}
{
    for (std::size_t i = 0; i < patterns.size(); ++i)
        table_->add_row(patterns, i);
    for (Table::Row& row : table_->rows)
        table_->context.push_back(row.instruction.get());
    table_->context.push_back(nullptr);
    // Descriptors that are none: it is asked about lines, and neither reads nor writes.
    table_->line.reset(cmdline_new(table_->context.data(), "", -1, -1));
    if (!table_->line)
        throw std::bad_alloc{};
}

CommandParser::~CommandParser() = default;

ParsedLine CommandParser::parse(std::string_view line)
{
    const std::string text = std::string{line} + "\n";
    if (text.find('\0') != std::string::npos)
        return {.kind = LineKind::unknown};
    table_->matched = nullptr;
    switch (cmdline_parse(table_->line.get(), text.c_str())) {
    case CMDLINE_PARSE_AMBIGUOUS:
        return {.kind = LineKind::ambiguous};
    case CMDLINE_PARSE_NOMATCH:
        return {.kind = LineKind::unknown};
    case CMDLINE_PARSE_BAD_ARGS:
        return {.kind = LineKind::bad};
    default:
        break;
    }
    if (table_->matched == nullptr)
        return {};
    return {
        .kind = LineKind::command, .command = table_->matched->index, .words = table_->words_of(*table_->matched)};
}

int CommandParser::complete(const char* line, int* state, char* out, unsigned int size) noexcept
{
    return cmdline_complete(table_->line.get(), line, state, out, size);
}

} // namespace mrz::testpmd
