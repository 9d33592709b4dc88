import type { Channel } from '../../kernel/channel.ts'
import { type Html, html } from '../../kernel/html.ts'
import { guessNetwork, MOBILE_NETWORKS, numbersOf, PAID_FROM_MENU } from '../../kernel/mobile-networks.ts'
import { beginsWithZero, dialPrefix, parsePhoneNumber } from '../../kernel/phone-number.ts'
import { CHANNEL_ICONS } from './channel-icons.ts'
import { mistakeNote, selectField, textField } from './field.ts'
import { addTo, all, attributes, flag } from './markup.ts'
import type { MethodMistake } from './method-input.ts'
import { cancel, earlierNote, form, type Of, shownTotal, type View } from './parts.ts'
import { IN_URL, type Method, type MethodChoices } from './screen.ts'
import type { Texts } from './texts/texts.ts'

/** The methods and their forms. Only the chosen one is visible. */
export function choose({ chosen, choices, earlier }: Of<'choose'>, view: View): Html {
  const { texts } = view
  const panels = choices.methods.map(
    (method) => html`<section class="method" id="method-${IN_URL[method.channel]}"${flag('hidden', method !== chosen)}>
${earlierNote(earlier, view)}${methodForm(method, choices, view)}
</section>`,
  )
  return html`<h2 id="heading" class="away" tabindex="-1">${texts.payWith}</h2>
${choices.methods.length > 1 ? methodTabs(chosen, choices, view) : null}
${all(panels)}
${cancel(view)}`
}

function methodTabs(chosen: Method, { methods }: MethodChoices, { texts, here }: View): Html {
  const tabs = methods.map(
    ({ channel }) =>
      html`<a href="${addTo(here, `method=${IN_URL[channel]}`)}" data-method="${IN_URL[channel]}"${flag('aria-current="true"', channel === chosen.channel)}>${CHANNEL_ICONS[channel]}${texts.method[channel]}</a>`,
  )
  return html`<nav class="tabs${methods.length > 3 ? ' many' : ''}" aria-label="${texts.payWith}">${all(tabs)}</nav>`
}

function methodForm(method: Method, choices: MethodChoices, view: View): Html {
  const { texts } = view
  const pay = texts.pay(view.show(method.amountCharged))
  switch (method.channel) {
    case 'card':
      return cardForm(method, choices, view)
    case 'virtual-bank-account':
      return payForm(method, view, { note: texts.bankTransferNote, button: texts.showAccount })
    case 'mobile-money':
      return payForm(method, view, { note: texts.mobileNote, button: pay, fields: mobileFields(method, view) })
    case 'ussd':
      return payForm(method, view, { note: texts.ussdNote, button: texts.showCode, fields: bankField(method, view) })
    case 'bank':
      return payForm(method, view, { note: texts.bankNote, button: pay, fields: bankField(method, view) })
    case 'qr':
      return payForm(method, view, { note: texts.qrNote, button: texts.showQr })
  }
}

interface Words {
  note: string
  button: string
  fields?: Html | null
}

function payForm(method: Method, view: View, { note, button, fields }: Words): Html {
  return form(
    view,
    'pay',
    html`<input type="hidden" name="method" value="${IN_URL[method.channel]}">${shownTotal(method)}
<p class="note">${note}</p>
${fields}${priceRows(method, view)}
<button class="main">${button}</button>`,
  )
}

function cardForm(method: Method, { cards, asksToSave }: MethodChoices, view: View): Html {
  const { texts } = view
  const choices = [
    ...cards.map(({ id, brand, last4 }) => ({
      value: String(id),
      label: html`<bdi>${texts.savedCard(brand, last4)}</bdi>`,
    })),
    { value: 'new', label: html`${texts.newCard}` },
  ].map(
    ({ value, label }, index) =>
      html`<label class="choice"><input type="radio" name="card" value="${value}"${flag('checked', index === 0)}><span>${label}</span></label>`,
  )
  return form(
    view,
    'pay',
    html`<input type="hidden" name="method" value="card">${shownTotal(method)}
${cards.length > 0 ? html`<fieldset><legend class="away">${texts.method.card}</legend>${all(choices)}</fieldset>` : html`<input type="hidden" name="card" value="new"><p class="note">${texts.cardNote}</p>`}
${asksToSave ? html`<label class="choice"><input type="checkbox" name="save" value="1"><span>${texts.saveCard}</span></label>` : null}
${priceRows(method, view)}
<button class="main">${texts.pay(view.show(method.amountCharged))}</button>`,
  )
}

/** What the customer typed before, with what was wrong with it. */
function typedIn({ typed }: View, channel: Channel) {
  return typed?.channel === channel ? typed : undefined
}

function bankField({ channel, banks = [] }: Method, view: View): Html | null {
  if (banks.length < 2) return null
  const { texts } = view
  const typed = typedIn(view, channel)
  const mistake = typed?.mistakes[0]
  return selectField(
    {
      id: `${IN_URL[channel]}-bank`,
      name: 'bank',
      label: texts.bankName,
      value: typed?.values.bank ?? '',
      attributes: {},
      mistake: mistake && mistakeText(mistake, texts, view),
      isFirstMistake: mistake !== undefined,
    },
    banks,
    texts.chooseBank,
  )
}

function mobileFields(
  { channel, networks = [], codeBeforehand = [], codeHelp, closed = [] }: Method,
  view: View,
): Html {
  const { texts, payment, known } = view
  const { country } = payment
  const typed = typedIn(view, channel)
  const number = parsePhoneNumber(typed?.values.phoneNumber ?? known.phoneNumber ?? '', country)
  const value = number?.national ?? typed?.values.phoneNumber ?? ''
  const looksLike = typed?.mistakes.find(({ why }) => why === 'looks like')?.network
  const guessed = looksLike ?? (number && guessNetwork(country, number.national))
  const given = looksLike ?? (typed ? typed.values.network : known.network)
  const open = networks.filter((each) => !closed.includes(each))
  const chosen = open.find((each) => each === given) ?? open.find((each) => each === guessed)
  const wrong = (field: MethodMistake['field']) => {
    const mistake = typed?.mistakes.find((each) => each.field === field)
    const isFirstMistake = mistake !== undefined && mistake === typed?.mistakes[0]
    return { mistake: mistake && mistakeText(mistake, texts, view), isFirstMistake }
  }
  const asksNumber = networks.some((each) => !PAID_FROM_MENU.has(each))
  const guesses = networks.length > 1 ? JSON.stringify(numbersOf(country)) : undefined
  const [first] = networks
  const label =
    first && networks.length === 1 ? `${texts.mobileNumber} (${MOBILE_NETWORKS[first]})` : texts.mobileNumber
  const phone = textField({
    ...{ id: 'mobile-phoneNumber', name: 'phoneNumber', label, value, lead: dialPrefix(country) },
    class: 'number',
    isRequired: !networks.some((each) => PAID_FROM_MENU.has(each)),
    attributes: { type: 'tel', autocomplete: 'tel-national', maxlength: '32', dir: 'ltr', 'data-guess': guesses },
    ...wrong('phoneNumber'),
  })
  const radios = networks.map(
    (each) =>
      html`<label class="choice"><input type="radio" name="network" value="${each}"${flag('data-code', codeBeforehand.includes(each))}${flag('checked', each === chosen)}${flag('disabled', closed.includes(each))}><span><bdi>${MOBILE_NETWORKS[each]}</bdi>${closed.includes(each) ? html` <small>${texts.closed}</small>` : null}</span></label>`,
  )
  const network = wrong('network').mistake
  const described = attributes({ 'aria-describedby': network && 'network-error' })
  const names = codeBeforehand.map((each) => MOBILE_NETWORKS[each]).join(', ')
  return html`${asksNumber ? phone : null}
${
  networks.length > 1 || closed.length > 0
    ? html`<input type="hidden" name="guess" value="${chosen === guessed ? chosen : ''}">
<fieldset class="networks"${described}${flag('data-wrong tabindex="-1"', network !== undefined)}><legend>${texts.network}</legend>${all(radios)}${network ? mistakeNote('network', network) : null}</fieldset>`
    : null
}
${
  codeBeforehand.length > 0
    ? textField({
        ...{ id: 'mobile-code', name: 'code', label: texts.codeBeforehand(names), value: typed?.values.code ?? '' },
        class: 'beforehand',
        hint: codeHelp,
        isRequired: false,
        attributes: { type: 'text', inputmode: 'numeric', autocomplete: 'off', maxlength: '32', dir: 'ltr' },
        ...wrong('code'),
      })
    : null
}
`
}

export function mistakeText({ why, network }: MethodMistake, texts: Texts, { payment }: Pick<View, 'payment'>): string {
  switch (why) {
    case 'missing':
      return texts.link.missing
    case 'phone number':
      return texts.wrongPhoneNumber(
        `\u2066${dialPrefix(payment.country) ?? '+'}…\u2069`,
        beginsWithZero(payment.country),
      )
    case 'network':
      return texts.chooseNetwork
    case 'looks like':
      return texts.looksLike(network ? MOBILE_NETWORKS[network] : '')
    case 'bank':
      return texts.chooseBank
    case 'code refused':
      return texts.codeRefused
    case 'too many':
      return texts.tooManyRequests
    case 'not sent':
      return texts.reasonOnPhone.provider_unavailable ?? texts.reason.provider_unavailable
  }
}

/** Explains the charge before the customer submits, if the customer bears it. */
function priceRows({ amountCharged }: Method, { texts, payment, show }: View): Html | null {
  if (!payment.customerBearsCharge) return null
  const row = (label: string, amount: number) => html`<div><dt>${label}</dt><dd>${show(amount)}</dd></div>`
  return html`<dl class="rows">${row(texts.amount, payment.amount)}${row(texts.charge, amountCharged - payment.amount)}${row(texts.total, amountCharged)}</dl>`
}
