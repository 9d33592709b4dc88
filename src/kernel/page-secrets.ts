// `chk_` ids and short codes open the payment page; `emb_`, `emt_`, `emr_` and `wgt_` open it for a while.
// No word boundary before them: in JSON the preceding character may be the n of an escaped line break.
const PAGE_SECRETS = /(chk_\w{8}|emb_|emt_|emr_|wgt_)[\w-]{6,}|(\/s\/\w{4})\w{6,}/g

/**
 * Redacts ids and codes that open a payment page. The first 12 characters of a payment's id stay: they hold its
 * creation time and no random bits, so that the lines of one payment can still be found.
 */
export function shortenPageIds(line: string): string {
  return line.replace(PAGE_SECRETS, (_, prefix, short) => `${prefix ?? short}…`)
}
