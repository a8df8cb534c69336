/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "the command names no flags for a question that is an error",
    file: "packages/cli/src/terminal/Exit.ts",
    from: "number === McpError.MissingClientCapability ? Unanswered.flagsOfData(data) : undefined",
    to: "undefined",
    test: "packages/cli/test/process/Cli.test.ts"
  },
  {
    name: "the command names no flags for a question that is a failed result",
    file: "packages/cli/src/session/Calling.ts",
    from: "flags === undefined ? Effect.void : output.note(flags)",
    to: "Effect.void",
    test: "packages/cli/test/process/Cli.test.ts"
  },
  {
    name: "the command names the flags of a form for a page",
    file: "packages/cli/src/terminal/Unanswered.ts",
    from: '(mode === "url" ? page : form)',
    to: "form",
    test: "packages/cli/test/process/Cli.test.ts"
  },
  {
    name: "the command gives the advice of the library for a token that is refused",
    file: "packages/cli/src/terminal/Exit.ts",
    from: "message: error.refusal",
    to: "message: error.message",
    test: "packages/cli/test/process/target/Remote.test.ts"
  },
  {
    name: "the command names no flag for a token where a login cannot be asked for",
    file: "packages/cli/src/terminal/Exit.ts",
    from: 'detail: error.code === "access_denied" ? undefined : detail',
    to: "detail: undefined",
    test: "packages/cli/test/process/commands/Login.test.ts"
  },
  {
    name: "call --detach follows the task to its end",
    file: "packages/cli/src/commands/Call.ts",
    from: "  if (task.id === undefined) {",
    to: '  if (task.id !== "") {',
    test: "packages/cli/test/process/commands/Tasks.test.ts"
  },
  {
    name: "a cancelled task is a failure of the connection",
    file: "packages/cli/src/terminal/Exit.ts",
    from: "new CommandFailure({ code: code.server, message: `The task was cancelled",
    to: "new CommandFailure({ code: code.connection, message: `The task was cancelled",
    test: "packages/cli/test/process/commands/Tasks.test.ts"
  },
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
    name: "Output writes notes without its last check",
    file: "packages/cli/src/terminal/Output.ts",
    from: "`${Style.safeOutput(text, noteStyle.colours)}\\n`",
    to: "`${text}\\n`",
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
    name: "a late answer is mentioned without --verbose",
    file: "packages/cli/src/session/Session.ts",
    from: 'level === "Debug" && !settings.verbose',
    to: 'level === "Debug" && false',
    test: "packages/cli/test/process/terminal/Terminal.test.ts"
  },
  {
    name: "call sends a tool that lacks a required argument",
    file: "packages/cli/src/commands/Call.ts",
    from: "requiredOf(inputSchema).filter((key) => !Object.hasOwn(given, key))",
    to: "requiredOf(inputSchema).filter((key) => key === undefined)",
    test: "packages/cli/test/process/Cli.test.ts"
  },
  {
    name: "call sends arguments that the tool does not name",
    file: "packages/cli/src/commands/Call.ts",
    from: "if (stray !== undefined)",
    to: "if (stray === null)",
    test: "packages/cli/test/process/Cli.test.ts"
  },
  {
    name: "a request goes to a server that did not start",
    file: "packages/cli/src/dev/Restarts.ts",
    from: 'if (settled._tag === "Failed") return Effect.fail(settled.error)',
    to: 'if (settled._tag === "Failed") return next',
    test: "packages/cli/test/process/commands/Dev.test.ts"
  },
  {
    name: "a server that is replaced keeps its connections",
    file: "packages/cli/src/dev/Restarts.ts",
    from: ", Stream.interruptWhen(Deferred.await(replaced)))",
    to: ")",
    test: "packages/cli/test/process/commands/Dev.test.ts"
  },
  {
    name: "a crash of a server in development is not said",
    file: "packages/cli/src/dev/Restarts.ts",
    from: "parts.options.note(`The server crashed: ",
    to: "Effect.succeed(`The server crashed: ",
    test: "packages/cli/test/process/commands/Dev.test.ts"
  },
  {
    name: "a crashed server is not started again by a request",
    file: "packages/cli/src/dev/Restarts.ts",
    from: '(now._tag === "Crashed" ? serving() : now)',
    to: "now",
    test: "packages/cli/test/process/commands/Dev.test.ts"
  },
  {
    name: "dev watches the output of builds",
    file: "packages/cli/src/dev/ProjectFiles.ts",
    from: '  "dist",\n',
    to: "",
    test: "packages/cli/test/process/commands/Dev.test.ts"
  },
  {
    name: "dev declares only the lists that the first start had",
    file: "packages/cli/src/commands/Dev.ts",
    from: "changingLists: true",
    to: "changingLists: false",
    test: "packages/cli/test/process/commands/Dev.test.ts"
  },
  {
    name: "the name of a client moves the cursor of an operator",
    file: "packages/cli/src/top/Tree.ts",
    from: "safeLine(`${client.name} ${client.version}`)",
    to: "`${client.name} ${client.version}`",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "a key that was hit by mistake drains a server",
    file: "packages/cli/src/top/State.ts",
    from: "return typed === drainWord ? { drain: line?.node } : undefined",
    to: "return { drain: line?.node }",
    test: "packages/cli/test/process/commands/Top.test.ts"
  },
  {
    name: "the list of servers shows passwords in URLs",
    file: "packages/client/src/servers/ServerEntry.ts",
    from: "[withoutSecrets(entry.url), ...named",
    to: "[entry.url, ...named",
    test: "packages/cli/test/process/commands/Install.test.ts"
  }
]
