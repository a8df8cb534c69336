/** Lists that are read to their end. */

interface Page {
  nextCursor?: string | undefined
}

/** Adds the items of all pages that follow to those of a page, which is the last then. */
export const readOn = async <A extends Page>(
  page: A,
  itemsOf: (page: A) => Array<unknown>,
  send: (cursor: string) => Promise<A>
): Promise<void> => {
  while (page.nextCursor !== undefined) {
    const next = await send(page.nextCursor)
    itemsOf(page).push(...itemsOf(next))
    if (next.nextCursor === undefined) delete page.nextCursor
    else page.nextCursor = next.nextCursor
  }
}
