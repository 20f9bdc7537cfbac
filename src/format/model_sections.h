/*
 * model_sections - the names of a packed model's sections (docs/formats/model.md), which
 * those who write and read models use, and those who want a tokenizer alone.
 */
#pragma once

#define PACKED_MODEL_CONFIG       "config"
#define PACKED_MODEL_TOKENIZER    "tokenizer"
#define PACKED_MODEL_ARCHITECTURE "architecture" /* where it is not the reference's */
#define PACKED_MODEL_TARGET       "target"       /* tokenizer of targets, if another */
#define PACKED_MODEL_TENSORS      "tensors"
#define PACKED_MODEL_WEIGHTS      "weights"
#define PACKED_MODEL_ABOUT        "about"     /* JSON: where the model comes from */
#define PACKED_MODEL_LICENCE      "licence"   /* text */
#define PACKED_MODEL_SHORTLIST    "shortlist" /* docs/formats/shortlist.md */
#define PACKED_MODEL_PROFILES     "profiles"  /* docs/formats/profiles.md */
