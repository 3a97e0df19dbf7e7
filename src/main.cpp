// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/command.hpp"

int main(int argc, char** argv) { return wsc::cli::run(argc, argv); }
