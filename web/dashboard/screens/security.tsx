export default function Security() {
  return null
}
