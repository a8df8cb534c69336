/**
 * The files of a new project, by what was chosen. Its test compiles and runs each of them.
 *
 * Kept as text in modules, since npm changes or leaves out some files of a package (`.gitignore`, `package.json`).
 */
import * as Effect from "./effect.ts"
import * as Promise from "./promise.ts"

/** What was chosen. */
export interface Project {
  readonly name: string
  /** Whether it is served over HTTP; else over stdio. */
  readonly http: boolean
  /** Whether it is written with promises; else with Effect. */
  readonly promise: boolean
}

/** The versions that a new project asks for; the test compares them with those of the workspace. */
export const versions = {
  own: "0.1.0",
  effect: "4.1.0",
  node: "24.19.2",
  typescript: "7.0.2",
  zod: "4.6.7"
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`

const dependenciesOf = (promise: boolean): { readonly [name: string]: string } =>
  promise
    ? { "@effect-mcp/promise": versions.own, zod: versions.zod }
    : {
        "@effect-mcp/core": versions.own,
        "@effect-mcp/server": versions.own,
        "@effect/platform-node": versions.effect,
        effect: versions.effect
      }

const manifest = ({ http, name, promise }: Project): string =>
  json({
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    scripts: {
      start: "node src/server.ts",
      dev: http ? "node --watch src/server.ts" : "effect-mcp dev src/server.ts",
      inspect: `effect-mcp inspect -- ${http ? "http://127.0.0.1:3000/mcp" : "node src/server.ts"}`,
      // Named, so that a Node which runs no TypeScript fails instead of finding no tests.
      test: "node --test test/*.test.ts",
      check: "tsc"
    },
    dependencies: dependenciesOf(promise),
    devDependencies: {
      "@effect-mcp/cli": versions.own,
      ...(promise ? undefined : { "@effect-mcp/protocol": versions.own, "@effect-mcp/testing": versions.own }),
      "@types/node": versions.node,
      typescript: versions.typescript
    },
    engines: { node: ">=22.19" }
  })

const tsconfig = json({
  compilerOptions: {
    target: "ES2024",
    lib: ["ES2024", "DOM", "ESNext.Disposable"],
    module: "NodeNext",
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    // Node runs the sources as they are.
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true
  },
  include: ["src", "test"]
})

const readme = ({ http, name }: Project): string => `# ${name}

An MCP server${http ? " over HTTP, at http://127.0.0.1:3000/mcp" : ""}.

| command           | what it does                                             |
| ----------------- | -------------------------------------------------------- |
| \`npm start\`       | serves it${http ? "" : " over stdin and stdout"} |
| \`npm run dev\`     | the same, started again whenever a file changes |
| \`npm run inspect\` | what it offers${http ? ", while it is served" : ""} |
| \`npm test\`        | calls its tools in every revision of the protocol |
| \`npm run check\`   | the types |
${
  http
    ? ""
    : `
For a host such as Claude Code or Cursor, in this folder: \`npx effect-mcp install CLIENT -- node src/server.ts\`.
`
}`

/** The files by their paths in the project. */
export const files = (project: Project): { readonly [path: string]: string } => ({
  ".gitignore": "node_modules\n",
  "README.md": readme(project),
  "package.json": manifest(project),
  "tsconfig.json": tsconfig,
  ...(project.promise ? Promise.files(project) : Effect.files(project))
})
