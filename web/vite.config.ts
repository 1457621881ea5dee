import { defineConfig } from "vite";

// Relative addresses let a reverse proxy serve the pages below a path.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: { input: ["index.html", "docs.html"] },
  },
});
