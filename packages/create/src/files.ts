/**
 * The files of a new project. Tests compile and run all of them.
 *
 * They are text in modules, because npm changes or omits some files of a package (`.gitignore`, `package.json`).
 */
import * as Effect from "./effect.ts"
import * as Promise from "./promise.ts"

/** The user's choices. */
export interface Project {
  readonly name: string
  /** Whether to serve over HTTP instead of stdio. */
  readonly http: boolean
  /** Whether to write it with promises instead of Effect. */
  readonly promise: boolean
}

/** Versions that a new project depends on. A test compares them with the workspace's versions. */
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
      // Names the files, so that a Node that can't run TypeScript fails instead of finding no tests.
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
    // Node runs the sources directly.
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true
  },
  include: ["src", "test"]
})

const readme = ({ http, name }: Project): string => `# ${name}

An MCP server${http ? " over HTTP, at http://127.0.0.1:3000/mcp" : ""}.

| command           | purpose                                                  |
| ----------------- | -------------------------------------------------------- |
| \`npm start\`       | starts the server${http ? "" : " on stdin and stdout"} |
| \`npm run dev\`     | starts it and restarts it whenever a file changes |
| \`npm run inspect\` | shows the server's features${http ? ", while it is running" : ""} |
| \`npm test\`        | calls the tools in every protocol revision |
| \`npm run check\`   | checks the types |
${
  http
    ? ""
    : `
To add the server to a host such as Claude Code or Cursor, run \`npx effect-mcp install CLIENT -- node src/server.ts\` in this folder.
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
