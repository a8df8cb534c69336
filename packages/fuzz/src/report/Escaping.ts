/** Texts of other people's servers, safe to show: on a terminal, in XML and in Markdown. */

const most = 240

/** The text, cut where it is long. */
export const cut = (text: string): string =>
  text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text

/** One line in which what cannot be seen, or changes how the rest is shown, is an escape. */
export const safe = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/gu, (c) => {
    const code = (c.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`
  })

/** Text of an element or an attribute of XML. */
export const xml = (text: string): string =>
  safe(text).replace(/[<>&"]/g, (c) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[c] ?? "&quot;")

/** Text of a cell of a table, or of a heading, in Markdown: nothing in it is markup, a link or a mention. */
export const cell = (text: string): string =>
  safe(text)
    .replace(/[!"#$%&':;<>?@[\\\]^_`{|}~*]/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/www\./gi, (www) => `${www.slice(0, 3)}&#46;`)

/** A word of a command line, as a shell takes it. */
export const quoted = (word: string): string =>
  /^[\w./:=@%+,-]+$/.test(word) ? word : `'${safe(word).replaceAll("'", `'\\''`)}'`

/** Columns of texts, the last one unpadded. */
export const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const width = (column: number) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0))
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(width(column)))
      .join("  ")
      .trimEnd()
  )
}
