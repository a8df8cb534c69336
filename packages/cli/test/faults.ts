/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "the default of a form's field is drawn as the server wrote it",
    file: "packages/cli/src/Questions.ts",
    from: "given === undefined ? undefined : safeLine(given)",
    to: "given",
    test: "packages/cli/test/Terminal.test.ts"
  },
  {
    name: "the trace under --verbose keeps a server's colours",
    file: "packages/cli/src/Cli.ts",
    from: "output.noteStyle.dim(safe(trace))",
    to: "output.noteStyle.dim(trace)",
    test: "packages/cli/test/Terminal.test.ts"
  },
  {
    name: "JSON goes to a terminal with characters that are not drawn",
    file: "packages/cli/src/Style.ts",
    from: "safeJson = (json: string): string => escapedLines(json)",
    to: "safeJson = (json: string): string => json",
    test: "packages/cli/test/Terminal.test.ts"
  },
  {
    name: "text for stdout by --output - is written raw to a terminal",
    file: "packages/cli/src/Save.ts",
    from: "output.write(exact(output, text))",
    to: "output.write(new TextEncoder().encode(text))",
    test: "packages/cli/test/Terminal.test.ts"
  },
  {
    name: "Output writes notes without its last check",
    file: "packages/cli/src/Output.ts",
    from: "`${Style.safeOutput(text, noteStyle.colours)}\\n`",
    to: "`${text}\\n`",
    test: "packages/cli/test/Terminal.test.ts"
  },
  {
    name: "the stderr of a server behind a proxy keeps its control characters",
    file: "packages/cli/src/Proxy.ts",
    from: "note(safe(line))",
    to: "note(line)",
    test: "packages/cli/test/Terminal.test.ts"
  },
  {
    name: "a late answer is mentioned without --verbose",
    file: "packages/cli/src/Session.ts",
    from: 'level === "Debug" && !settings.verbose',
    to: 'level === "Debug" && false',
    test: "packages/cli/test/Terminal.test.ts"
  },
  {
    name: "call sends a tool that lacks a required argument",
    file: "packages/cli/src/commands/Call.ts",
    from: "requiredOf(inputSchema).filter((key) => !Object.hasOwn(given, key))",
    to: "requiredOf(inputSchema).filter((key) => key === undefined)",
    test: "packages/cli/test/Cli.test.ts"
  },
  {
    name: "call sends arguments that the tool does not name",
    file: "packages/cli/src/commands/Call.ts",
    from: "if (stray !== undefined)",
    to: "if (stray === null)",
    test: "packages/cli/test/Cli.test.ts"
  }
]
