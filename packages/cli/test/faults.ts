/** Faults with the test that detects each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "the default of a form's field is drawn as the server wrote it",
    file: "packages/cli/src/questions/Questions.ts",
    from: "given === undefined ? undefined : safeLine(given)",
    to: "given",
    test: "packages/cli/test/process/terminal/Terminal.test.ts"
  },
  {
    name: "the trace under --verbose keeps a server's colours",
    file: "packages/cli/src/Cli.ts",
    from: "output.noteStyle.dim(safe(trace))",
    to: "output.noteStyle.dim(trace)",
    test: "packages/cli/test/process/terminal/Terminal.test.ts"
  },
  {
    name: "JSON goes to a terminal with characters that are not drawn",
    file: "packages/cli/src/terminal/Style.ts",
    from: "safeJson = (json: string): string => escapedLines(json)",
    to: "safeJson = (json: string): string => json",
    test: "packages/cli/test/process/terminal/Terminal.test.ts"
  },
  {
    name: "text for stdout by --output - is written raw to a terminal",
    file: "packages/cli/src/session/Save.ts",
    from: "output.write(exact(output, text))",
    to: "output.write(new TextEncoder().encode(text))",
    test: "packages/cli/test/process/terminal/Terminal.test.ts"
  },
  {
    name: "the stderr of a server behind a proxy keeps its control characters",
    file: "packages/cli/src/proxy/Proxy.ts",
    from: "note(safe(line))",
    to: "note(line)",
    test: "packages/cli/test/process/terminal/Terminal.test.ts"
  },
  {
    name: "the list of servers shows passwords in URLs",
    file: "packages/client/src/servers/ServerEntry.ts",
    from: "[withoutSecrets(entry.url), ...named",
    to: "[entry.url, ...named",
    test: "packages/cli/test/process/commands/Install.test.ts"
  }
]
