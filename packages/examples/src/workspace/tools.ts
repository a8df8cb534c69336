/**
 * Contracts of the server's features, as values. They type its handlers and the
 * clients that import this file.
 */
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Tool from "@effect-mcp/core/Tool"
import * as Schema from "effect/Schema"

const FilePath = Schema.String.annotate({
  description: 'Path of a file, relative to the workspace: "src/index.ts"'
})

export const Match = Schema.Struct({
  path: Schema.String,
  line: Schema.Int.annotate({ description: "Counted from 1" }),
  text: Schema.String.annotate({ description: "The line, trimmed and cut" })
})

export const Search = Tool.make("search", {
  title: "Search in files",
  description:
    "Finds the lines that contain a text, in all text files of the workspace. Upper and lower case are the same.",
  input: {
    query: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1000)),
    glob: Schema.optionalKey(
      Schema.String.check(Schema.isMaxLength(256)).annotate({
        description:
          'Which files: "*.ts" in any folder, "src/**/*.test.ts" from the top. Default all'
      })
    ),
    maxResults: Schema.optionalKey(
      Schema.Int.check(
        Schema.isBetween({ minimum: 1, maximum: 1000 })
      ).annotate({ description: "Default 100" })
    )
  },
  output: {
    matches: Schema.Array(Match),
    files: Schema.Int.annotate({
      description: "How many files were looked at"
    }),
    complete: Schema.Boolean.annotate({
      description: "Whether these are all matches"
    })
  },
  annotations: { readOnlyHint: true, openWorldHint: false }
})

export const Summarize = Tool.make("summarize", {
  title: "Summarize a file",
  description:
    "Summarizes one text file of the workspace, with the model of the client.",
  input: { path: FilePath },
  annotations: { readOnlyHint: true, openWorldHint: false }
})

export const Rename = Tool.make("rename", {
  title: "Rename a file",
  description:
    "Renames or moves one file within the workspace, once the user has agreed. Never replaces a file.",
  input: { from: FilePath, to: FilePath },
  output: { from: Schema.String, to: Schema.String },
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false
  }
})

export const Review = Prompt.make("review", {
  title: "Review a file",
  description: "Asks for a code review of one file.",
  arguments: {
    path: FilePath,
    focus: Schema.optionalKey(
      Schema.String.annotate({ description: "What to look at first" })
    )
  }
})
