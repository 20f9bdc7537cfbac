#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

extern "C" {
#include "text/spm.h"

#include "base/file.h"
#include "base/mem.h"
#include "text/spm_guard.h"
#include "text/spm_train.h"
}

struct spm {
    sentencepiece::SentencePieceProcessor processor;
    std::string bytes;
};

namespace
{

using sentencepiece::SentenceIterator;
using sentencepiece::SentencePieceTrainer;
using sentencepiece::util::Status;

const size_t default_max_line_bytes = 4192;

/* Run `body` and turn whatever it throws into a status. */
template <typename Body> status guarded(struct err *err, Body body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return err_set(err, ERR_MEMORY, "out of memory inside SentencePiece");
    } catch (const std::exception &e) {
        return err_set(err, ERR_FORMAT, "SentencePiece failed: %s", e.what());
    } catch (...) {
        return err_set(err, ERR_FORMAT, "SentencePiece failed for an unknown reason");
    }
}

bool is_id(const struct spm *spm, int32_t id)
{
    return id >= 0 && id < spm->processor.GetPieceSize();
}

/* What a model may hold beyond what its format asks, and we rely on. */
status check_pieces(const sentencepiece::SentencePieceProcessor &p, struct err *err)
{
    const int n = p.GetPieceSize();

    if (n > SPM_VOCAB_MAX)
        return err_set(err, ERR_FORMAT, "the model has %d pieces, at most %d are taken",
                       n, SPM_VOCAB_MAX);
    for (int id = 0; id < n; id++)
        if (!std::isfinite(p.GetScore(id)))
            return err_set(err, ERR_FORMAT, "the score of piece %d is not a number", id);
    return OK;
}

status adopt(struct spm **out, std::string bytes, struct err *err)
{
    auto spm = std::make_unique<struct spm>();
    const Status loaded = spm->processor.LoadFromSerializedProto(bytes);

    if (!loaded.ok())
        return err_set(err, ERR_FORMAT, "not a usable SentencePiece model: %s",
                       loaded.error_message());
    TRY(check_pieces(spm->processor, err));
    spm->bytes = std::move(bytes);
    *out = spm.release();
    return OK;
}

/* The caller's lines in the form that the trainer pulls. */
class callback_lines : public SentenceIterator
{
  public:
    callback_lines(spm_next_fn *next, void *ctx, size_t max_bytes)
        : next_(next), ctx_(ctx), max_bytes_(max_bytes)
    {
        advance();
    }
    bool done() const override
    {
        return done_;
    }
    void Next() override
    {
        advance();
    }
    const std::string &value() const override
    {
        return text_;
    }
    Status status() const override
    {
        return Status();
    }
    struct spm_train_count count() const
    {
        return count_;
    }

  private:
    /* Over-long lines are left out here, and not by the trainer, to be counted. */
    void advance()
    {
        struct line line;

        while (next_(ctx_, &line)) {
            if (line.n_bytes == 0)
                continue;
            count_.n_lines++;
            if (line.n_bytes <= max_bytes_) {
                text_.assign(line.text, line.n_bytes);
                return;
            }
            count_.n_too_long++;
        }
        done_ = true;
    }

    spm_next_fn *next_;
    void *ctx_;
    size_t max_bytes_;
    bool done_ = false;
    std::string text_;
    struct spm_train_count count_ = {};
};

/* SentencePiece names the limit only in its English message. */
status explain(const Status &failed, size_t vocab_size, struct err *err)
{
    const char *text = failed.error_message();
    const char *high = std::strstr(text, "to a value <= ");
    const char *low = std::strstr(text, "smaller than required_chars. ");
    unsigned long asked = 0, limit = 0;

    if (std::strstr(text, "!sentences_.empty()") ||
        (high && std::sscanf(high, "to a value <= %lu", &limit) == 1 &&
         limit <= SPM_N_SPECIAL))
        return err_set(err, ERR_FORMAT, "there is no text to learn word pieces from");
    if (high && limit)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %zu: the text gives only %lu pieces; take at most "
                       "that many",
                       vocab_size, limit);
    if (low &&
        std::sscanf(low, "smaller than required_chars. %lu vs %lu", &asked, &limit) == 2)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %zu: the text has so many different characters "
                       "that at least %lu pieces are needed",
                       vocab_size, limit);
    return err_set(err, ERR_FORMAT, "SentencePiece could not learn from this text: %s",
                   text);
}

std::unordered_map<std::string, std::string> train_flags(
    const struct spm_train_options &o, size_t max_line_bytes)
{
    /* minloglevel 3 keeps the trainer from writing to standard error. */
    return {{"model_type", "bpe"},
            {"vocab_size", std::to_string(o.vocab_size)},
            {"pad_id", std::to_string(SPM_PAD)},
            {"eos_id", std::to_string(SPM_EOS)},
            {"bos_id", std::to_string(SPM_BOS)},
            {"unk_id", std::to_string(SPM_UNK)},
            {"character_coverage", "1.0"},
            {"max_sentence_length", std::to_string(max_line_bytes)},
            {"hard_vocab_limit", o.is_at_most ? "false" : "true"},
            {"minloglevel", "3"}};
}

status check_train_options(const struct spm_train_options &o, struct err *err)
{
    enum { LEAST_LINE = 10, MOST_LINE = 1 << 30 }; /* the trainer's own limits */

    if (o.vocab_size <= SPM_N_SPECIAL || o.vocab_size > SPM_VOCAB_MAX)
        return err_set(err, ERR_USAGE, "vocab_size = %zu: want %d to %d", o.vocab_size,
                       SPM_N_SPECIAL + 1, SPM_VOCAB_MAX);
    if (o.max_line_bytes &&
        (o.max_line_bytes < LEAST_LINE || o.max_line_bytes > MOST_LINE))
        return err_set(err, ERR_USAGE, "max_line_bytes = %zu: want %d to %d",
                       o.max_line_bytes, LEAST_LINE, MOST_LINE);
    return OK;
}

status save_vocab(const struct spm *spm, const char *path, struct err *err)
{
    struct str text = str_new(0);

    for (int32_t id = 0; id < (int32_t)spm_size(spm); id++) {
        const std::string &piece = spm->processor.IdToPiece(id);
        str_add(&text, piece.data(), piece.size());
        str_printf(&text, "\t%g\n", spm_score(spm, id));
    }
    status s = str_check(&text, path, err);
    if (s == OK)
        s = file_write(path, text.data, text.len, err);
    str_release(&text);
    return s;
}

/* The lines of several files, one after the other. */
struct file_chain {
    std::vector<struct lines> file;
    size_t at;
};

bool next_of_chain(void *ctx, struct line *line)
{
    auto *chain = static_cast<struct file_chain *>(ctx);

    for (; chain->at < chain->file.size(); chain->at++)
        if (lines_next(&chain->file[chain->at], line))
            return true;
    return false;
}

} // namespace

status spm_parse(struct spm **spm, const void *bytes, size_t n_bytes, struct err *err)
{
    *spm = nullptr;
    TRY(spm_guard_model(bytes, n_bytes, err));
    return guarded(err, [&] {
        return adopt(spm, std::string(static_cast<const char *>(bytes), n_bytes), err);
    });
}

status spm_load(struct spm **spm, const char *path, struct err *err)
{
    struct file_map map;

    *spm = nullptr;
    TRY(file_map_open(&map, path, err));
    const status s = spm_parse(spm, map.data, map.n_bytes, err);
    file_map_close(&map);
    return s == OK ? OK : err_wrap(err, "%s", path);
}

void spm_free(struct spm *spm)
{
    delete spm;
}

struct line spm_bytes(const struct spm *spm)
{
    return {spm->bytes.data(), spm->bytes.size()};
}

status spm_save(const struct spm *spm, const char *prefix, struct err *err)
{
    return guarded(err, [&] {
        const std::string name(prefix);
        TRY(file_write((name + ".model").c_str(), spm->bytes.data(), spm->bytes.size(),
                       err));
        return save_vocab(spm, (name + ".vocab").c_str(), err);
    });
}

size_t spm_size(const struct spm *spm)
{
    return static_cast<size_t>(spm->processor.GetPieceSize());
}

struct spm_special spm_specials(const struct spm *spm)
{
    const auto &p = spm->processor;

    return {p.pad_id(), p.eos_id(), p.bos_id(), p.unk_id()};
}

status spm_check_special(const struct spm *spm, struct err *err)
{
    const struct spm_special s = spm_specials(spm);

    if (s.pad == SPM_PAD && s.eos == SPM_EOS && s.bos == SPM_BOS && s.unk == SPM_UNK)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "the SentencePiece model has pad %d, eos %d, bos %d, unk %d; want "
                   "%d, %d, %d, %d",
                   s.pad, s.eos, s.bos, s.unk, SPM_PAD, SPM_EOS, SPM_BOS, SPM_UNK);
}

const char *spm_piece(const struct spm *spm, int32_t id)
{
    BUG_ON(!is_id(spm, id));
    return spm->processor.IdToPiece(id).c_str();
}

double spm_score(const struct spm *spm, int32_t id)
{
    BUG_ON(!is_id(spm, id));
    return static_cast<double>(spm->processor.GetScore(id));
}

int32_t spm_id(const struct spm *spm, const char *piece)
{
    return spm->processor.PieceToId(piece);
}

void spm_ids_release(struct spm_ids *ids)
{
    free(ids->id);
    *ids = {};
}

status spm_encode(const struct spm *spm, struct line text, struct spm_ids *ids,
                  struct err *err)
{
    return guarded(err, [&] {
        std::vector<int> found;
        const Status s = spm->processor.Encode({text.text, text.n_bytes}, &found);

        if (!s.ok())
            return err_set(err, ERR_FORMAT, "SentencePiece cannot encode this line: %s",
                           s.error_message());
        if (found.empty())
            return OK;
        TRY(mem_grow(&ids->id, &ids->cap, ids->n + found.size(), sizeof *ids->id, err));
        static_assert(sizeof *ids->id == sizeof found[0], "ids are copied as bytes");
        memcpy(ids->id + ids->n, found.data(), found.size() * sizeof found[0]);
        ids->n += found.size();
        return OK;
    });
}

status spm_decode(const struct spm *spm, const int32_t *id, size_t n, struct str *out,
                  struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!is_id(spm, id[i]))
            return err_set(err, ERR_FORMAT, "token id %d: the tokenizer has %zu pieces",
                           id[i], spm_size(spm));
    return guarded(err, [&] {
        std::string text;
        const Status s = spm->processor.Decode(std::vector<int>(id, id + n), &text);

        if (!s.ok())
            return err_set(err, ERR_FORMAT, "SentencePiece cannot decode these ids: %s",
                           s.error_message());
        str_add(out, text.data(), text.size());
        return str_check(out, "decoded text", err);
    });
}

status spm_train(struct spm **spm, struct spm_train_options options, spm_next_fn *next,
                 void *ctx, struct spm_train_count *count, struct err *err)
{
    const size_t max_bytes =
        options.max_line_bytes ? options.max_line_bytes : default_max_line_bytes;

    *spm = nullptr;
    TRY(check_train_options(options, err));
    return guarded(err, [&] {
        callback_lines lines(next, ctx, max_bytes);
        std::string bytes;
        const Status s =
            SentencePieceTrainer::Train(train_flags(options, max_bytes), &lines, &bytes);

        if (count)
            *count = lines.count();
        if (!s.ok())
            return explain(s, options.vocab_size, err);
        return adopt(spm, std::move(bytes), err);
    });
}

status spm_train_files(struct spm **spm, struct spm_train_options options,
                       const char *const *paths, size_t n_paths,
                       struct spm_train_count *count, struct err *err)
{
    struct file_chain chain = {};

    *spm = nullptr;
    const status s = guarded(err, [&] {
        chain.file.resize(n_paths);
        for (size_t i = 0; i < n_paths; i++)
            TRY(lines_open(&chain.file[i], paths[i], err));
        return spm_train(spm, options, next_of_chain, &chain, count, err);
    });
    for (auto &file : chain.file)
        lines_close(&file);
    return s;
}
