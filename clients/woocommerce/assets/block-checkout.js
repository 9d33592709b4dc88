// Manilla in the block checkout. It needs no build: the libraries are those of WordPress and WooCommerce.
const { createElement } = window.wp.element
const { decodeEntities } = window.wp.htmlEntities
const settings = window.wc.wcSettings.getSetting('manilla_data', {})
const title = decodeEntities(settings.title || 'Manilla')
const Content = () => createElement('span', null, decodeEntities(settings.description || ''))

window.wc.wcBlocksRegistry.registerPaymentMethod({
  name: 'manilla',
  label: title,
  ariaLabel: title,
  content: createElement(Content),
  edit: createElement(Content),
  canMakePayment: () => true,
  supports: { features: settings.supports || ['products'] },
})
