import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/**", "node_modules/**", "scripts/**", "eslint.config.mjs"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines": ["error", { max: 600 }],
      "max-lines-per-function": ["error", { max: 70 }],
      "no-console": "error",
      "max-len": ["error", { code: 120 }],
      eqeqeq: "error",
      // Numbers and bigints in texts need no ceremony.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
    },
  },
  {
    // What the page knows of the protocol is in one place.
    files: ["src/**"],
    ignores: ["src/protocol/**"],
    rules: {
      "no-restricted-imports": ["error", {
        patterns: [{
          regex: "/protocol/(?!(index|bytes)\\.ts$)", message: "import it from protocol/index.ts",
        }],
      }],
    },
  },
  {
    // What people read is in src/text, once for each language. Errors that only a defect of ours throws are none of it.
    files: ["src/page/**"],
    rules: {
      "no-restricted-syntax": [
        "error",
        ...[
          "Literal[value=/[a-z]{2,} [a-z]{2,}/i]", "Literal[value=/^(?!Escape$|Worker$)[A-Z][a-z]+[.!?]?$/]",
          "TemplateElement[value.raw=/[a-z]{2,}[:,]? [a-z]{2,}/i]",
        ].map((selector) => ({
          selector: `${selector}:not(NewExpression *, CallExpression[callee.property.name=/^querySelector/] > *)` +
            ":not(CallExpression[callee.name=element] > :nth-child(3))",
          message: "put the text into src/text/en.ts and de.ts",
        })),
      ],
    },
  },
  {
    // The protocol reads no clock, draws no randomness and does no I/O: they are arguments.
    files: ["src/protocol/**"],
    rules: {
      "no-restricted-globals": [
        "error", "performance", "setTimeout", "setInterval", "fetch", "WebSocket", "WebTransport", "window", "document",
      ],
      "no-restricted-properties": [
        "error",
        { object: "Math", property: "random" },
        { object: "Date", property: "now" },
        { object: "crypto", property: "getRandomValues" },
      ],
    },
  },
);
