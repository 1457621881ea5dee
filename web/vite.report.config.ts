import { defineConfig } from "vite";

// The script and the style sheet of reports, one file each: aiperfd writes them into every
// report. Their names are fixed, because no browser loads them.
export default defineConfig({
  build: {
    target: "es2022",
    outDir: "dist/report",
    lib: {
      entry: "src/report.tsx",
      formats: ["iife"],
      name: "report",
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
});
