package access

import (
	"cmp"
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"strings"
)

// keywords are the attributes that have a name in RFC 2253; others are written as numbers, with the encoded value in hex.
var keywords = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU",
	"0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC",
}

// texts are the types of values that are written as text.
var texts = []int{asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagT61String, asn1.TagIA5String, asn1.TagGeneralString, asn1.TagBMPString}

// relativeSET is one part of a name; encoding/asn1 distinguishes a set from a sequence by the name of the type.
type relativeSET []struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// subject returns the name in a certificate as Java's X500Principal.getName() writes it: servers use it as the ID of the scheme x509, and compare it with
// that of an ACL character by character. The String method of pkix.Name uses another order of the parts.
func subject(raw []byte) (string, error) {
	var parts []relativeSET
	if _, err := asn1.Unmarshal(raw, &parts); err != nil {
		return "", err
	}
	slices.Reverse(parts)
	var all []string
	for _, part := range parts {
		var attributes []string
		for _, a := range part {
			attributes = append(attributes, attribute(a.Type.String(), a.Value))
		}
		all = append(all, strings.Join(attributes, "+"))
	}
	return strings.Join(all, ","), nil
}

// specials escapes characters with a backslash. Leading and trailing spaces are escaped too.
var specials = strings.NewReplacer(`,`, `\,`, `=`, `\=`, `+`, `\+`, `<`, `\<`, `>`, `\>`, `#`, `\#`, `;`, `\;`, `"`, `\"`, `\`, `\\`)

func attribute(number string, value asn1.RawValue) string {
	keyword, known := keywords[number]
	if !known || !slices.Contains(texts, value.Tag) {
		return cmp.Or(keyword, number) + "=#" + hex.EncodeToString(value.FullBytes)
	}
	text := string(value.Bytes)
	rest := strings.TrimLeft(text, " ")
	inner := strings.TrimRight(rest, " ")
	return keyword + "=" + strings.Repeat(`\ `, len(text)-len(rest)) + specials.Replace(inner) + strings.Repeat(`\ `, len(rest)-len(inner))
}
