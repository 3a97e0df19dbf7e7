#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT-2 style tokenizer with the package `tokenizers` and writes bpe_vocab.json, bpe_merges.txt and bpe_cases.json
(texts, the pieces that the package `regex` cuts, the ids that `tokenizers` gives) beside this script. Needs tokenizers and regex."""
import json
import os
import random

import regex
import tokenizers

here = os.path.dirname(os.path.abspath(__file__))
pattern = regex.compile(r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""")

sonnet = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
So long as men can breathe or eyes can see,
So long lives this, and this gives life to thee.
"""
other = ("I'm sure they're late; we've said he'll come, she'd go, don't, it's 1999 or 2024.   Three  blanks.\n\n\tTab\r\n"
         "Größe, naïve café, Привет мир, 你好，世界！ 🙂🙂 x² ½ ٣٤ e\u0301\n")
training = sonnet * 4 + other * 4

tokenizer = tokenizers.ByteLevelBPETokenizer(add_prefix_space=False)
tokenizer.train_from_iterator(training.splitlines(keepends=True), vocab_size=480, min_frequency=2, special_tokens=["<|endoftext|>"],
                              show_progress=False)
tokenizer.save_model(here, "bpe")
for name in ("vocab.json", "merges.txt"):
    os.replace(os.path.join(here, "bpe-" + name), os.path.join(here, "bpe_" + name))
# As GPT-2's own tokenizer does not treat special tokens in a text either, encode with a tokenizer that has none.
plain = tokenizers.ByteLevelBPETokenizer(os.path.join(here, "bpe_vocab.json"), os.path.join(here, "bpe_merges.txt"), add_prefix_space=False)

texts = ["", " ", "  ", "a", " a", "  a", "a ", "a  ", "\n", "\n\n", "\n\na", " \n a", "a\u00a0b", "a \u00a0b", "a\u3000\u3000b", "'s", " 's", "'S", "'", "''ll",
         "'rest", "I'll've", "dimm'd's", "a1b2", "12 34", " 12", "x² ½ ٣", "..!?", " ..", "a-b", "e\u0301tude", "🙂🙂 🙂", "é'll", "你好 世界",
         "\u2028a", "\x1c\x1da", "\x85x", "_ _", "<|endoftext|>", "a<|endoftext|>b", "t" * 200, "the the the" * 20, "ab " * 40, sonnet[:300], other]
random.seed(7)
alphabet = list("aabcst 'mdrev l  \n\t.,!?-019") + ["'s", "'ll", "é", "ß", "П", "ы", "你", "½", "٣", "\u00a0", "\u3000", "\u0301", "🙂", "\u2003", " the", " summer"]
texts += ["".join(random.choice(alphabet) for _ in range(random.randrange(1, 40))) for _ in range(150)]
cases = [{"text": t, "words": pattern.findall(t), "ids": plain.encode(t).ids} for t in texts]
for case in cases:
    assert "".join(case["words"]) == case["text"] and plain.decode(case["ids"]) == case["text"]
with open(os.path.join(here, "bpe_cases.json"), "w") as out:
    made_by = f"tokenizers {tokenizers.__version__}, regex {regex.__version__}"
    json.dump({"made_by": made_by, "eos_id": tokenizer.token_to_id("<|endoftext|>"), "vocab_size": tokenizer.get_vocab_size(), "cases": cases}, out)
