/** Shows an interface of options as a table of names, types, defaults and meanings. */
import type { Comment, Directive, Statement, TSPropertySignature } from "oxc-parser"

/** The declarations and comments of a module. */
export interface Module {
  readonly text: string
  readonly comments: ReadonlyArray<Comment>
}

/** Returns the docstring directly before a position. */
export const commentBefore = ({ comments, text }: Module, start: number): string =>
  comments.findLast(
    ({ end, type, value }) =>
      type === "Block" && value.startsWith("*") && end <= start && text.slice(end, start).trim() === ""
  )?.value ?? ""

/** Returns the text of a docstring without its comment marks. */
export const plain = (comment: string): string =>
  comment
    .replace(/^\*/, "")
    .replaceAll(/^[ \t]*\* ?/gm, "")
    .trim()

interface Option {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly comment: string
}

const optionOf = (module: Module, member: TSPropertySignature): Option | undefined => {
  if (member.key.type !== "Identifier" || member.typeAnnotation === null) return undefined
  const { end, start } = member.typeAnnotation.typeAnnotation
  return {
    name: member.key.name,
    type: module.text.slice(start, end).replace(/\s*\|\s*undefined$/, ""),
    isRequired: !member.optional,
    comment: plain(commentBefore(module, member.start))
  }
}

interface Options {
  readonly own: ReadonlyArray<Option>
  /** Interfaces whose options it inherits. */
  readonly inherited: ReadonlyArray<string>
}

/**
 * Returns the options of an interface, or `undefined` if a table would not suit it: it has methods or examples, or fewer than half of its
 * members are optional.
 */
const optionsOf = (module: Module, statement: Statement | Directive): Options | undefined => {
  if (statement.type !== "ExportNamedDeclaration" || statement.declaration?.type !== "TSInterfaceDeclaration")
    return undefined
  const { body, extends: bases } = statement.declaration
  const members = body.body
  const options = members.flatMap((member) => {
    const option = member.type === "TSPropertySignature" ? optionOf(module, member) : undefined
    return option === undefined || option.comment.includes("@example") ? [] : [option]
  })
  const optional = options.filter(({ isRequired }) => !isRequired)
  return options.length === members.length && optional.length > 0 && optional.length * 2 >= options.length
    ? { own: options, inherited: bases.map(({ end, start }) => module.text.slice(start, end)) }
    : undefined
}

/** Splits the sentence about the default from the rest of a docstring. */
export const splitDefault = (comment: string): readonly [meaning: string, defaultValue: string | undefined] => {
  const text = comment.replaceAll(/\s+/g, " ")
  const found = /(?:^|(?<=[.;)]) )Default:? ((?:`[^`]*`|[^`;])+?)(?:\.(?= |$)|;|$)/.exec(text)
  if (found?.[1] === undefined) return [text, undefined]
  const after = text.slice(found.index + found[0].length).trim()
  const rest = found[0].endsWith(";") ? after.charAt(0).toUpperCase() + after.slice(1) : after
  return [`${text.slice(0, found.index).trim()} ${rest}`.trim(), found[1]]
}

const cell = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").trim()

/** Returns the table of an interface of options, or `undefined` if the declaration is something else. `prose` escapes text for the site. */
export const optionTable = (
  module: Module,
  statement: Statement | Directive,
  prose: (comment: string) => string
): string | undefined => {
  const options = optionsOf(module, statement)
  if (options === undefined) return undefined
  const rows = options.own.map(({ comment, isRequired, name, type }) => {
    const [meaning, given] = splitDefault(comment)
    const defaultValue = isRequired ? "required" : prose(given ?? "")
    return `| \`${name}\` | \`${cell(type)}\` | ${cell(defaultValue)} | ${cell(prose(meaning))} |`
  })
  const table = ["| Option | Type | Default | Meaning |", "|---|---|---|---|", ...rows].join("\n")
  return options.inherited.length === 0
    ? table
    : `${table}\n\nAlso has the options of ${options.inherited.map((base) => `\`${cell(base)}\``).join(" and ")}.`
}
