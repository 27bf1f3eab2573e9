// The text of --help, identical with every release of CLI11: since 2.5, CLI11's own formatter rewraps
// examples, which breaks their columns, and aligns long options so that descriptions do not fit beside them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace goodput {

class HelpFormatter : public CLI::Formatter {
 public:
  // `name`: the command's name, with its parent commands.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const override {
    const auto positionals = app->get_options([](const CLI::Option* o) { return o->get_positional(); });
    const auto options = app->get_options([](const CLI::Option* o) { return o->nonpositional(); });
    const auto subcommands = app->get_subcommands([](const CLI::App*) { return true; });
    std::string help = app->get_description() + "\nUsage: " + name;
    if (!options.empty()) help += " [OPTIONS]";
    for (const CLI::Option* positional : positionals) help += " " + make_option_usage(positional);
    if (!subcommands.empty())
      help += app->get_require_subcommand_min() == 0 ? " [SUBCOMMAND]" : " SUBCOMMAND";
    help += "\n";
    help += Heading("Positionals", positionals.empty());
    for (const CLI::Option* positional : positionals) help += OptionLine(*positional);
    for (const std::string& group : app->get_groups()) {
      const auto grouped = app->get_options([&](const CLI::Option* option) {
        return option->nonpositional() && option->get_group() == group && !group.empty();
      });
      help += Heading(group == "OPTIONS" ? "Options" : group, grouped.empty());
      for (const CLI::Option* option : grouped) help += OptionLine(*option);
    }
    help += Heading("Subcommands", subcommands.empty());
    for (const CLI::App* sub : subcommands) help += Line(sub->get_name(), sub->get_description());
    help += "\n";
    if (!app->get_footer().empty()) help += app->get_footer() + "\n";
    return help;
  }

 private:
  static std::string Heading(const std::string& title, bool empty) {
    return empty ? "" : "\n" + title + ":\n";
  }
  std::string OptionLine(const CLI::Option& option) const {
    const bool positional = option.get_positional();
    return Line(make_option_name(&option, positional) + make_option_opts(&option), option.get_description());
  }
  std::string Line(const std::string& name, const std::string& description) const {
    std::string line = "  " + name;
    const std::size_t column = get_column_width();
    if (description.empty()) return line + "\n";
    if (line.size() >= column) line += "\n" + std::string(column, ' ');
    if (line.size() < column) line.resize(column, ' ');
    return line + description + "\n";
  }
};

}  // namespace goodput
