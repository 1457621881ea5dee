import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

/** theme puts src/ui/first.js before the style sheets of a page, as a script of its own that the first paint waits
 * for. The policy of pages forbids inline scripts, and all other scripts run after the first paint. */
function theme(): Plugin {
  const source = readFileSync(new URL("./src/ui/first.js", import.meta.url), "utf8");
  return {
    name: "theme",
    buildStart() {
      this.emitFile({ type: "asset", name: "theme.js", source: `{\n${source}}\n` });
    },
    transformIndexHtml: {
      order: "post",
      handler(_, { bundle }) {
        const file = Object.values(bundle ?? {}).find((f) => f.type === "asset" && f.names.includes("theme.js"));
        return file ? [{ tag: "script", attrs: { src: "./" + file.fileName }, injectTo: "head-prepend" }] : [];
      },
    },
  };
}

// Relative addresses let a reverse proxy serve the pages below a path.
export default defineConfig({
  base: "./",
  plugins: [theme()],
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: { input: ["index.html", "docs.html"] },
  },
});
