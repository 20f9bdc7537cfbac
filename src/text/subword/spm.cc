#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

extern "C" {
#include "text/subword/spm.h"

#include "base/file.h"
#include "base/mem.h"
#include "text/subword/spm_parts.h"
}

enum { MARK_MOST = 64 /* bytes of a mark */ };

struct spm {
    sentencepiece::SentencePieceProcessor processor;
    std::string bytes;
    std::unique_ptr<struct spm> target; /* of the other side; none: this reads both */
    size_t n_known = SIZE_MAX;
};

namespace
{

using sentencepiece::SentenceIterator;
using sentencepiece::SentencePieceTrainer;
using sentencepiece::util::Status;

/* Run `body` and turn whatever it throws into a status. */
template <typename Body> status guarded(struct err *err, Body body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return err_set(err, ERR_MEMORY, "out of memory inside SentencePiece");
    } catch (const std::system_error &e) { /* of the threads that it trains with */
        return err_set(err, ERR_MEMORY,
                       "SentencePiece could not start its threads (%s): this process may "
                       "have too little memory or too few threads; see ulimit -v and -u",
                       e.what());
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

/* OK, or "what: why". */
status checked(const Status &s, const char *what, struct err *err)
{
    return s.ok() ? OK : err_set(err, ERR_FORMAT, "%s: %s", what, s.error_message());
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

    TRY(checked(spm->processor.LoadFromSerializedProto(bytes),
                "not a usable SentencePiece model", err));
    TRY(check_pieces(spm->processor, err));
    spm->bytes = std::move(bytes);
    *out = spm.release();
    return OK;
}

/* The one line that the blank model is trained on. */
class blank_line : public SentenceIterator
{
  public:
    bool done() const override
    {
        return done_;
    }
    void Next() override
    {
        done_ = true;
    }
    const std::string &value() const override
    {
        return text_;
    }
    Status status() const override
    {
        return Status();
    }

  private:
    bool done_ = false;
    std::string text_ = "a";
};

std::unordered_map<std::string, std::string> train_flags()
{
    /* minloglevel 3 keeps the trainer from writing to standard error. */
    return {{"model_type", "bpe"},
            {"vocab_size", "16"},
            {"pad_id", std::to_string(ID_PAD)},
            {"eos_id", std::to_string(ID_EOS)},
            {"bos_id", std::to_string(ID_BOS)},
            {"unk_id", std::to_string(ID_UNK)},
            {"character_coverage", "1.0"},
            {"hard_vocab_limit", "false"},
            {"minloglevel", "3"}};
}

status save_vocab(const struct spm *spm, const char *path, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);

    for (int32_t id = 0; id < (int32_t)spm_size(spm); id++) {
        const std::string &piece = spm->processor.IdToPiece(id);
        str_add(&text, piece.data(), piece.size());
        str_printf(&text, "\t%g\n", spm_score(spm, id));
    }
    return file_write_str(path, &text, err);
}

/* What the model sees of a piece. */
int32_t known(const struct spm *spm, int32_t id)
{
    return static_cast<size_t>(id) < spm->n_known ? id : ID_UNK;
}

status keep_spans(const struct spm *spm,
                  const sentencepiece::ImmutableSentencePieceText &text,
                  struct spm_spans *out, struct err *err)
{
    out->n = 0;
    TRY(mem_grow(&out->span, &out->cap, text.pieces_size(), sizeof *out->span, err));
    for (const auto &piece : text.pieces())
        out->span[out->n++] = {known(spm, static_cast<int32_t>(piece.id())),
                               piece.begin(), piece.end()};
    return OK;
}

status check_ids(const struct spm *spm, const int32_t *id, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!is_id(spm, id[i]))
            return err_set(err, ERR_FORMAT, "token id %d: the tokenizer has %zu pieces",
                           id[i], spm_size(spm));
    return OK;
}

} // namespace

status spm_parse(struct spm **spm, const void *bytes, size_t n_bytes, struct err *err)
{
    *spm = nullptr;
    TRY(spm_parts_guard(bytes, n_bytes, err));
    return guarded(err, [&] {
        return adopt(spm, std::string(static_cast<const char *>(bytes), n_bytes), err);
    });
}

status spm_load(struct spm **spm, const char *path, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {};

    *spm = nullptr;
    TRY(file_map_open(&map, path, err));
    return spm_parse(spm, map.data, map.n_bytes, err) == OK ? OK
                                                            : err_wrap(err, "%s", path);
}

void spm_free(struct spm *spm)
{
    delete spm;
}

status spm_blank(struct spm **spm, struct err *err)
{
    *spm = nullptr;
    return guarded(err, [&] {
        blank_line line;
        std::string bytes;

        TRY(checked(SentencePieceTrainer::Train(train_flags(), &line, &bytes),
                    "SentencePiece does not train", err));
        return adopt(spm, std::move(bytes), err);
    });
}

void spm_join(struct spm *spm, struct spm *target)
{
    spm->target.reset(target);
}

const struct spm *spm_target(const struct spm *spm)
{
    return spm->target ? spm->target.get() : spm;
}

void spm_limit(struct spm *spm, size_t n)
{
    spm->n_known = n;
}

struct line spm_target_bytes(const struct spm *spm)
{
    const struct spm *target = spm_target(spm);

    return target == spm ? line{nullptr, 0} : spm_bytes(target);
}

static status load_limited(struct spm **spm, const char *path, size_t n, struct err *err)
{
    TRY(spm_load(spm, path, err));
    if (n < spm_size(*spm))
        spm_limit(*spm, n);
    return OK;
}

status spm_load_both(struct spm **spm, const char *source, const char *target,
                     size_t n_source, size_t n_target, struct err *err)
{
    struct spm *other = NULL;

    TRY(load_limited(spm, source, n_source, err));
    if (!*target)
        return OK;
    TRY(load_limited(&other, target, n_target, err));
    spm_join(*spm, other);
    return OK;
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

size_t spm_known(const struct spm *spm)
{
    return spm_size(spm) < spm->n_known ? spm_size(spm) : spm->n_known;
}

struct spm_special spm_specials(const struct spm *spm)
{
    const auto &p = spm->processor;

    return {p.pad_id(), p.eos_id(), p.bos_id(), p.unk_id()};
}

status spm_check_special(const struct spm *spm, struct err *err)
{
    const struct spm_special s = spm_specials(spm);

    if (s.pad == ID_PAD && s.eos == ID_EOS && s.bos == ID_BOS && s.unk == ID_UNK)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "the SentencePiece model has pad %d, eos %d, bos %d, unk %d; want "
                   "%d, %d, %d, %d",
                   s.pad, s.eos, s.bos, s.unk, ID_PAD, ID_EOS, ID_BOS, ID_UNK);
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

int32_t spm_mark(const struct spm *spm, struct line text, size_t *n)
{
    const std::string_view all(text.text ? text.text : "", text.n_bytes);
    const size_t end = all.substr(0, MARK_MOST).find("<<");

    *n = 0;
    if (all.substr(0, 2) != ">>" || end == std::string_view::npos)
        return -1;
    const auto &p = spm->processor;
    const std::string_view mark = all.substr(0, end + 2);
    const int id = p.PieceToId(std::string(mark));
    if (p.IsUnknown(id) || (size_t)id >= spm_known(spm))
        return -1;
    const size_t text_at = all.find_first_not_of(" \t", mark.size());
    *n = text_at == std::string_view::npos ? all.size() : text_at;
    return id;
}

status spm_ids_add(struct spm_ids *ids, int32_t id, struct err *err)
{
    TRY(mem_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id, err));
    ids->id[ids->n++] = id;
    return OK;
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

        TRY(checked(spm->processor.Encode({text.text, text.n_bytes}, &found),
                    "SentencePiece cannot encode this line", err));
        if (found.empty())
            return OK;
        TRY(mem_grow(&ids->id, &ids->cap, ids->n + found.size(), sizeof *ids->id, err));
        for (const int id : found)
            ids->id[ids->n++] = known(spm, id);
        return OK;
    });
}

void spm_spans_release(struct spm_spans *spans)
{
    free(spans->span);
    *spans = {};
}

status spm_encode_spans(const struct spm *spm, struct line text, struct spm_spans *out,
                        struct err *err)
{
    return guarded(err, [&] {
        const absl::string_view line(text.text, text.n_bytes);

        return keep_spans(spm, spm->processor.EncodeAsImmutableProto(line), out, err);
    });
}

status spm_decode_spans(const struct spm *spm, const int32_t *id, size_t n,
                        struct spm_spans *out, struct err *err)
{
    TRY(check_ids(spm, id, n, err));
    return guarded(err, [&] {
        const std::vector<int> ids(id, id + n);

        return keep_spans(spm, spm->processor.DecodeIdsAsImmutableProto(ids), out, err);
    });
}

status spm_pieces(const struct spm *spm, struct line text, struct str *out,
                  struct err *err)
{
    return guarded(err, [&] {
        std::vector<std::string> found;

        TRY(checked(spm->processor.Encode({text.text, text.n_bytes}, &found),
                    "SentencePiece cannot encode this line", err));
        for (size_t i = 0; i < found.size(); i++) {
            if (i)
                str_putc(out, ' ');
            str_add(out, found[i].data(), found[i].size());
        }
        return str_check(out, "a line of pieces", err);
    });
}

status spm_decode(const struct spm *spm, const int32_t *id, size_t n, struct str *out,
                  struct err *err)
{
    TRY(check_ids(spm, id, n, err));
    return guarded(err, [&] {
        std::string text;

        TRY(checked(spm->processor.Decode(std::vector<int>(id, id + n), &text),
                    "SentencePiece cannot decode these ids", err));
        str_add(out, text.data(), text.size());
        return str_check(out, "decoded text", err);
    });
}
