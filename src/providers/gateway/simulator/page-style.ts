import { createHash } from 'node:crypto'

export const STYLE = `
:root{color-scheme:light dark;--ink:#14171f;--soft:#5b6273;--line:#d9dde5;--card:#fff;--ground:#eef1f6;--accent:#1f4fd8;--on:#fff;--bad:#b3261e;--bad-ground:#fdecea}
@media(prefers-color-scheme:dark){:root{--ink:#eef0f5;--soft:#a4abbb;--line:#353b48;--card:#191c23;--ground:#0f1116;--accent:#8fb0ff;--on:#0c1630;--bad:#ffb4ab;--bad-ground:#3a1714}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem .75rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:26rem}
section{background:var(--card);border:1px solid var(--line);border-radius:1rem;padding:1.5rem 1.25rem}
h1{font-size:1rem;font-weight:600;margin:0;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:1.25rem 0 .25rem}
.amount{font-size:2rem;line-height:1.2;font-weight:700;letter-spacing:-.02em;margin:.25rem 0 0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.note{color:var(--soft);margin:.25rem 0 0}
.alert{margin:1rem 0 0;padding:.7rem .9rem;border-radius:.6rem;background:var(--bad-ground);color:var(--bad);font-weight:500}
form{margin-top:1rem}
.row{display:grid;grid-template-columns:1fr 1fr;gap:.75rem}
form>div{margin-bottom:.75rem}
label{display:block;font-size:.9rem;font-weight:500}
.wrong{margin:.25rem 0 0;font-size:.9rem;color:var(--bad);font-weight:500}
input[type=text]{display:block;width:100%;margin-top:.25rem;padding:.7rem .75rem;font:inherit;font-variant-numeric:tabular-nums;color:inherit;background:transparent;border:1px solid var(--soft);border-radius:.6rem}
::placeholder{color:var(--soft);opacity:1}
input[aria-invalid=true]{border-color:var(--bad)}
.check{display:flex;gap:.6rem;align-items:center;min-height:2.75rem;margin:0}
.check input{width:1.2rem;height:1.2rem;margin:0;accent-color:var(--accent)}
button,.button{display:block;text-wrap:balance;width:100%;min-height:3rem;padding:.7rem 1rem;border:0;border-radius:.6rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer;background:var(--accent);color:var(--on)}
.button{margin-top:1.25rem}
.quiet{background:transparent;color:var(--soft);font-weight:500;min-height:2.75rem;margin-top:.25rem}
form.next{margin-top:0}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
footer{color:var(--soft);font-size:.85rem;padding:1rem .25rem 0}
footer p{margin:0 0 .25rem}
summary{cursor:pointer;min-height:2.75rem;padding:.65rem 0}
table{width:100%;border-collapse:collapse}
td{padding:.3rem 0;vertical-align:top;border-top:1px solid var(--line)}
td:first-child{padding-right:.75rem;white-space:nowrap;font-size:.8rem;font-variant-numeric:tabular-nums}
@media(max-height:30rem){body{display:block;padding:0;background:var(--card)}main{margin:auto}section{border:0;border-radius:0;padding:.75rem}h1{font-size:.9rem}.amount{font-size:1.25rem;margin:0}form{margin-top:.5rem}form>div{margin-bottom:.4rem}label{font-size:.85rem}input[type=text]{padding:.6rem .65rem;margin-top:.1rem}.alert{margin-top:.5rem;padding:.5rem .7rem}h2{margin-top:.5rem}footer{padding:0 .75rem}}
`.trim()

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/**
 * No script, no other host. Any site may put a frame around it: there is only play money to be had by a trick, and our
 * payment page, which frames it, may itself stand in a shop's widget, while `frame-ancestors` counts every ancestor.
 * Real providers decide that for themselves.
 */
export const PAGE_HEADERS: Record<string, string> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'self'; frame-ancestors *`,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-robots-tag': 'noindex',
  'cache-control': 'no-store',
}
