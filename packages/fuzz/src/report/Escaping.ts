/** Makes untrusted text safe for terminals, XML and Markdown. */

const most = 240

/** Truncates a long text. */
export const cut = (text: string): string =>
  text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text

/** Returns a single line in which invisible characters and control characters are escaped. */
export const safe = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/gu, (c) => {
    const code = (c.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`
  })

/** Escapes text for an XML element or attribute. */
export const xml = (text: string): string =>
  safe(text).replace(/[<>&"]/g, (c) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[c] ?? "&quot;")

/** Escapes text for a Markdown table cell or heading. The result contains no markup, links or mentions. */
export const cell = (text: string): string =>
  safe(text)
    .replace(/[!"#$%&':;<>?@[\\\]^_`{|}~*]/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/www\./gi, (www) => `${www.slice(0, 3)}&#46;`)

/** Quotes a word for a shell. */
export const quoted = (word: string): string =>
  /^[\w./:=@%+,-]+$/.test(word) ? word : `'${safe(word).replaceAll("'", `'\\''`)}'`

/** Pads texts into columns, except for the last column. */
export const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const width = (column: number) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0))
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(width(column)))
      .join("  ")
      .trimEnd()
  )
}
