#!/usr/bin/env bash
# Installs what drives a browser, and the font of the pictures, in a folder.
set -euo pipefail
cd "$1"
PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --silent --no-audit --no-fund \
  playwright-core axe-core @fontsource/dejavu-sans@5.3.0 @fontsource/dejavu-mono@5.3.0
