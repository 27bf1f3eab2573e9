#include "sql/tables/virtual_tables.h"

#include <sqlite3.h>

#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sql/blocks/mark_block.h"
#include "sql/blocks/record_pack.h"
#include "sql/blocks/step_block.h"
#include "sql/text.h"

namespace goodput {
namespace {

void GiveText(sqlite3_context* out, std::string_view text) {
  sqlite3_result_text64(out, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

std::string BytesOf(sqlite3_value* value) {
  const void* data = sqlite3_value_blob(value);
  const int size = sqlite3_value_bytes(value);
  return data == nullptr ? std::string()
                         : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

// Reads the rows of one block. Each kind has kColumns, the declaration of its table, whose last kArguments
// columns are the arguments; and Column, which gives one of the others.
class RecordRows {
 public:
  static constexpr const char* kColumns =
      "CREATE TABLE x(source_id INTEGER, offset INTEGER, t_ns INTEGER, kind TEXT, record TEXT, data HIDDEN)";
  static constexpr int kArguments = 1;
  static constexpr int kRowColumns = 5;

  explicit RecordRows(sqlite3_value** arguments) : data_(BytesOf(arguments[0])), records_(data_) {}
  bool Next() { return records_.Next(); }
  bool good() const { return records_.good(); }
  void Column(int column, sqlite3_context* out) const {
    switch (column) {
      case 0:
        return sqlite3_result_int64(out, records_.source_id());
      case 1:
        return sqlite3_result_int64(out, records_.offset());
      case 2:
        return sqlite3_result_int64(out, records_.t_ns());
      case 3:
        return GiveText(out, records_.kind());
      default:
        std::string record;
        records_.AppendText(record);
        return GiveText(out, record);
    }
  }

 private:
  std::string data_;
  RecordUnpacker records_;
};

// Rows that are all unpacked at once: a block of these has at most a few thousand.
template <typename Row>
class Rows {
 public:
  bool Next() { return ++at_ < rows_.size(); }
  bool good() const { return good_; }

 protected:
  const Row& row() const { return rows_[at_]; }
  std::vector<Row> rows_;
  bool good_ = true;

 private:
  std::size_t at_ = static_cast<std::size_t>(-1);
};

class StepRows : public Rows<PackedStep> {
 public:
  static constexpr const char* kColumns =
      "CREATE TABLE x(t_ns INTEGER, train_step INTEGER, task INTEGER, offset INTEGER, data HIDDEN)";
  static constexpr int kArguments = 1;
  static constexpr int kRowColumns = 4;

  explicit StepRows(sqlite3_value** arguments) { good_ = UnpackSteps(BytesOf(arguments[0]), rows_); }
  void Column(int column, sqlite3_context* out) const {
    const std::int64_t values[] = {row().t_ns, row().step, row().task, row().offset};
    sqlite3_result_int64(out, values[column]);
  }
};

struct Mark {
  std::int64_t t_ns = 0;
  const char* mark = "";
  bool begin = true;
  std::optional<std::int64_t> step;
  std::string name;
  std::string slurm_step;
  std::int64_t task = 0;
  std::int64_t offset = 0;
};

const char* NameOf(PackedMark::Kind kind) {
  switch (kind) {
    case PackedMark::Kind::kCheckpoint:
      return "checkpoint";
    case PackedMark::Kind::kRestore:
      return "restore";
    case PackedMark::Kind::kStepEnd:
      return "step";
    case PackedMark::Kind::kPhase:
      break;
  }
  return "phase";
}

class MarkRows : public Rows<Mark> {
 public:
  static constexpr const char* kColumns =
      "CREATE TABLE x(t_ns INTEGER, mark TEXT, edge TEXT, train_step INTEGER, name TEXT, slurm_step TEXT, "
      "task INTEGER,"
      " offset INTEGER, data HIDDEN)";
  static constexpr int kArguments = 1;
  static constexpr int kRowColumns = 8;

  explicit MarkRows(sqlite3_value** arguments) {
    const std::string data = BytesOf(arguments[0]);
    good_ = UnpackMarks(data, [&](const PackedMark& mark) {
      rows_.push_back({mark.t_ns, NameOf(mark.kind), mark.begin && mark.kind != PackedMark::Kind::kStepEnd,
                       mark.step, std::string(mark.name), std::string(mark.slurm_step), mark.task,
                       mark.offset});
    });
  }
  void Column(int column, sqlite3_context* out) const {
    switch (column) {
      case 0:
        return sqlite3_result_int64(out, row().t_ns);
      case 1:
        return GiveText(out, row().mark);
      case 2:
        return GiveText(out, row().begin ? "begin" : "end");
      case 3:
        return row().step ? sqlite3_result_int64(out, *row().step) : sqlite3_result_null(out);
      case 4:
        return GiveText(out, row().name);
      case 5:
        return GiveText(out, row().slurm_step);
      case 6:
        return sqlite3_result_int64(out, row().task);
      default:
        return sqlite3_result_int64(out, row().offset);
    }
  }
};

// A table-valued function of SQLite (https://sqlite.org/vtab.html#tabfunc2) whose arguments are a block.
template <typename Block>
class Function {
 public:
  static const sqlite3_module* Module() {
    static const sqlite3_module module = Make();
    return &module;
  }

 private:
  struct Cursor {
    sqlite3_vtab_cursor base;  // SQLite's part comes first
    std::unique_ptr<Block> block;
    bool at_end;
    sqlite3_int64 rowid;
  };
  static Cursor* Of(sqlite3_vtab_cursor* cursor) { return reinterpret_cast<Cursor*>(cursor); }

  static sqlite3_module Make() {
    sqlite3_module module;
    std::memset(&module, 0, sizeof module);  // without xCreate it exists in each connection that registers it
    module.xConnect = [](sqlite3* db, void*, int, const char* const*, sqlite3_vtab** out, char**) {
      const int code = sqlite3_declare_vtab(db, Block::kColumns);
      if (code != SQLITE_OK) return code;
      *out = static_cast<sqlite3_vtab*>(sqlite3_malloc(sizeof(sqlite3_vtab)));
      if (*out == nullptr) return SQLITE_NOMEM;
      std::memset(*out, 0, sizeof **out);
      sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
      return SQLITE_OK;
    };
    module.xDisconnect = [](sqlite3_vtab* table) {
      sqlite3_free(table);
      return SQLITE_OK;
    };
    module.xBestIndex = BestIndex;
    module.xOpen = [](sqlite3_vtab*, sqlite3_vtab_cursor** out) {
      auto* cursor = new Cursor{};
      *out = &cursor->base;
      return SQLITE_OK;
    };
    module.xClose = [](sqlite3_vtab_cursor* cursor) {
      delete Of(cursor);
      return SQLITE_OK;
    };
    module.xFilter = [](sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value** arguments) {
      Of(cursor)->block = std::make_unique<Block>(arguments);
      Of(cursor)->rowid = 0;
      return Next(cursor);
    };
    module.xNext = Next;
    module.xEof = [](sqlite3_vtab_cursor* cursor) { return Of(cursor)->at_end ? 1 : 0; };
    module.xColumn = [](sqlite3_vtab_cursor* cursor, sqlite3_context* out, int column) {
      if (column < Block::kRowColumns) Of(cursor)->block->Column(column, out);
      return SQLITE_OK;
    };
    module.xRowid = [](sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
      *out = Of(cursor)->rowid;
      return SQLITE_OK;
    };
    return module;
  }

  // All arguments must be given.
  static int BestIndex(sqlite3_vtab*, sqlite3_index_info* info) {
    int given = 0;
    for (int i = 0; i < info->nConstraint; ++i) {
      const auto& constraint = info->aConstraint[i];
      const int argument = constraint.iColumn - Block::kRowColumns;
      if (argument < 0 || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
      if (constraint.usable == 0) return SQLITE_CONSTRAINT;
      info->aConstraintUsage[i].argvIndex = argument + 1;
      info->aConstraintUsage[i].omit = 1;
      ++given;
    }
    info->estimatedCost = 1000;
    info->estimatedRows = 1000;
    return given == Block::kArguments ? SQLITE_OK : SQLITE_CONSTRAINT;
  }

  static int Next(sqlite3_vtab_cursor* cursor) {
    Cursor* of = Of(cursor);
    of->at_end = !of->block->Next();
    ++of->rowid;
    if (of->block->good()) return SQLITE_OK;
    sqlite3_free(cursor->pVtab->zErrMsg);
    cursor->pVtab->zErrMsg = sqlite3_mprintf("a block is damaged");
    return SQLITE_CORRUPT_VTAB;
  }
};

constexpr const char* kViews = R"sql(
CREATE TEMP VIEW events AS
  SELECT source.cluster, event.job_id, event.t_ns, source.node, event.kind, source.file, event.offset, event.record
    FROM event JOIN source ON source.id = event.source_id
  UNION ALL
  SELECT source.cluster, block.job_id, one.t_ns, source.node, one.kind, source.file, one.offset, one.record
    FROM record_block AS block, unpack_records(block.data) AS one JOIN source ON source.id = one.source_id;

CREATE TEMP VIEW steps AS
  SELECT source.cluster, block.job_id, one.t_ns, source.node, block.slurm_step, one.task, one.train_step, source.file,
         one.offset
    FROM step_block AS block, unpack_steps(block.data) AS one JOIN source ON source.id = block.source_id;

CREATE TEMP VIEW marks AS
  SELECT cluster, job_id, t_ns, node, json_extract(record, '$.slurm_step') AS slurm_step,
         json_extract(record, '$.task') AS task, json_extract(record, '$.mark') AS mark,
         json_extract(record, '$.edge') AS edge, json_extract(record, '$.train_step') AS train_step,
         json_extract(record, '$.name') AS name, file, offset
    FROM events WHERE kind = 'mark'
  UNION ALL
  SELECT source.cluster, block.job_id, one.t_ns, source.node, one.slurm_step, one.task, one.mark, one.edge, one.train_step,
         nullif(one.name, ''), source.file, one.offset
    FROM mark_block AS block, unpack_marks(block.data) AS one JOIN source ON source.id = block.source_id;

CREATE TEMP VIEW node_event AS
  SELECT cluster, node, file, offset, t_ns, kind, job_id, json_extract(record, '$.slurm_step') AS slurm_step,
         json_extract(record, '$.task') AS task, json_extract(record, '$.exit_code') AS exit_code,
         json_extract(record, '$.signal') AS signal
    FROM events WHERE job_id IS NOT NULL AND node <> '@controller';

CREATE TEMP VIEW job_option AS
  SELECT cluster, job_id, t_ns, json_extract(record, '$.opt') AS opt, json_extract(record, '$.opt.run') AS run
    FROM events WHERE kind IN ('job_prolog', 'step_start') AND job_id IS NOT NULL
     AND json_type(record, '$.opt') = 'object';
)sql";

std::int64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int Authorize(void* /*unused*/, int action, const char* what, const char* /*more*/, const char* /*database*/,
              const char* /*inner*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return std::strcmp(what == nullptr ? "" : what, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

// SQLite asks after so many of its instructions, some milliseconds.
constexpr int kInstructionsBetweenLooks = 100'000;

int IsTooLong(void* end_ns) {
  return MonotonicNs() > *static_cast<const std::int64_t*>(end_ns) ? 1 : 0;
}

}  // namespace

absl::Status AddVirtualTables(Database& db) {
  sqlite3* handle = db.handle();
  const std::pair<const char*, const sqlite3_module*> functions[] = {
      {"unpack_records", Function<RecordRows>::Module()},
      {"unpack_steps", Function<StepRows>::Module()},
      {"unpack_marks", Function<MarkRows>::Module()},
  };
  for (const auto& [name, module] : functions) {
    if (sqlite3_create_module(handle, name, module, nullptr) != SQLITE_OK)
      return absl::InternalError(Cat(db.path(), ": ", sqlite3_errmsg(handle)));
  }
  return db.Execute(kViews);
}

ReadingOnly::ReadingOnly(Database& db, absl::Duration longest)
    : db_(db), end_ns_(MonotonicNs() + absl::ToInt64Nanoseconds(longest)) {
  sqlite3_progress_handler(db_.handle(), kInstructionsBetweenLooks, IsTooLong, &end_ns_);
  sqlite3_set_authorizer(db_.handle(), Authorize, nullptr);
}

ReadingOnly::~ReadingOnly() {
  sqlite3_progress_handler(db_.handle(), 0, nullptr, nullptr);
  sqlite3_set_authorizer(db_.handle(), nullptr, nullptr);
}

bool ReadingOnly::time_is_over() const {
  return MonotonicNs() > end_ns_;
}

}  // namespace goodput
