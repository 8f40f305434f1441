#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_certs: certificates for the tests of TLS, good ones and one of each fault, below DIR. usage: make_certs.sh DIR
set -eu
umask 077
mkdir -p "$1"
cd "$1"

cat >ca.cnf <<END
[ca]
default_ca = own
[own]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[ca_ext]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
[server]
basicConstraints = CA:false
keyUsage = digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost
[elsewhere]
basicConstraints = CA:false
keyUsage = digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:elsewhere.example
[client]
basicConstraints = CA:false
keyUsage = digitalSignature
extendedKeyUsage = clientAuth
[req]
distinguished_name = name
[name]
END
: >index
echo 01 >serial

key() {
    openssl ecparam -name prime256v1 -genkey -noout -out "$1.key" 2>/dev/null
}

# authority NAME
authority() {
    key "$1"
    openssl req -x509 -new -config ca.cnf -extensions ca_ext -key "$1.key" -subj "/CN=$1" -days 3000 -out "$1.pem"
}

# signed NAME AUTHORITY EXTENSIONS FROM UNTIL
signed() {
    key "$1"
    openssl req -new -config ca.cnf -key "$1.key" -subj "/CN=$1" -out "$1.csr"
    openssl ca -batch -notext -config ca.cnf -cert "$2.pem" -keyfile "$2.key" -extensions "$3" -startdate "$4" -enddate "$5" \
        -in "$1.csr" -out "$1.pem" 2>log || { cat log >&2; exit 1; }
}

# self_signed NAME EXTENSIONS
self_signed() {
    key "$1"
    openssl req -x509 -new -config ca.cnf -extensions "$2" -key "$1.key" -subj "/CN=$1" -days 3000 -out "$1.pem"
}

past=20200101000000Z
lately=20210101000000Z
later=20980101000000Z
end=20990101000000Z

authority ca
authority other-ca
for side in server client; do
    signed "$side" ca "$side" "$past" "$end"
    signed "$side-other" other-ca "$side" "$past" "$end"
    signed "$side-expired" ca "$side" "$past" "$lately"
    signed "$side-early" ca "$side" "$later" "$end"
    self_signed "$side-self" "$side"
done
signed server-purpose ca client "$past" "$end"
signed client-purpose ca server "$past" "$end"
signed server-elsewhere ca elsewhere "$past" "$end"
signed ca-expired ca ca_ext "$past" "$lately"
signed ca-early ca ca_ext "$later" "$end"
